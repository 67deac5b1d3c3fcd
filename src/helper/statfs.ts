/** Sizes of a filesystem that may not answer. */
import { statfs } from 'node:fs/promises';
import type { HelperOperations } from '../shared/contracts/helper.ts';

export async function statfsOf({ path }: HelperOperations['statfs']['request']): Promise<HelperOperations['statfs']['reply']> {
  const { type, bsize, blocks, bavail, files, ffree } = await statfs(path);
  return { type, capacityBytes: blocks * bsize, availableBytes: bavail * bsize, inodes: files, inodesFree: ffree };
}
