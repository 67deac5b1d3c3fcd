/** Mounting and unmounting, each so that doing it again does nothing. */
import type { HelperOperations } from '../shared/contracts/helper.ts';
import { readMountsBelow } from '../shared/linux/mountinfo.ts';
import { mount } from '../shared/linux/native.ts';
import { unmountAt } from '../shared/linux/unmount-at.ts';

/** What is mounted at exactly this place; the last one hides those before it. */
export async function mountAt(target: string): Promise<{ readonly fsType: string } | undefined> {
  return (await readMountsBelow(target)).findLast(({ mountPoint }) => mountPoint === target);
}

export async function mountFilesystem({ target, fsType, source, options }: HelperOperations['mountFilesystem']['request']): Promise<null> {
  if ((await mountAt(target))?.fsType === fsType) return null;
  await mount(source, target, fsType, 0, options);
  return null;
}

export async function unmountTarget({ target, force }: HelperOperations['unmount']['request']): Promise<null> {
  await unmountAt(target, { force });
  return null;
}
