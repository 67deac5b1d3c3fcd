/** Mounts and unmounts filesystems. Both operations are idempotent. */
import type { HelperOperations } from '../shared/contracts/helper.ts';
import { readMountsBelow } from '../shared/linux/mountinfo.ts';
import { mount } from '../shared/linux/native.ts';
import { unmountAt } from '../shared/linux/unmount-at.ts';

/** Returns the mount at exactly this path. Of several, only the last one is visible. */
export async function findMountAt(target: string): Promise<{ readonly fsType: string } | undefined> {
  return (await readMountsBelow(target)).findLast(({ mountPoint }) => mountPoint === target);
}

export async function mountFilesystem({ target, fsType, source, options }: HelperOperations['mountFilesystem']['request']): Promise<null> {
  if ((await findMountAt(target))?.fsType === fsType) return null;
  await mount(source, target, fsType, 0, options);
  return null;
}

export async function unmountTarget({ target, force }: HelperOperations['unmount']['request']): Promise<null> {
  await unmountAt(target, { force });
  return null;
}
