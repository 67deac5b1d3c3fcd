/** Removes the folder of one volume with what containers have written into it. */
import { rmdir } from '../blocking-fs.ts';
import type { TeardownContext } from './teardown-context.ts';

/** Each call of the helper removes files for 5 s: 120 calls are ten minutes, enough for some million files. The next attempt continues from there. */
const maxSlices = 120;

/** The helper removes what containers have written. Most volumes are empty by now, because they were in memory. */
export async function removeVolumeFolder({ helper, signal }: TeardownContext, { path }: { readonly path: string }): Promise<void> {
  if (await removeIfEmpty(path)) return;
  for (let slices = 0; slices < maxSlices; slices += 1) {
    if ((await helper.call('removeTree', { path }, { signal })).removed) return;
  }
  throw new Error(`remove ${path}: not empty after ${maxSlices} attempts of some seconds, files may still be added`);
}

async function removeIfEmpty(path: string): Promise<boolean> {
  return rmdir(path).then(
    () => true,
    () => false,
  );
}
