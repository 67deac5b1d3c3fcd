/** Reads the sizes of a filesystem that may hang. */
import { statfs } from 'node:fs/promises';
import type { HelperOperations } from '../shared/contracts/helper.ts';

export async function readFilesystemSizes({ path }: HelperOperations['statfs']['request']): Promise<HelperOperations['statfs']['reply']> {
  const { bsize, blocks, bfree, bavail, files, ffree } = await statfs(path);
  return {
    capacityBytes: blocks * bsize,
    availableBytes: bavail * bsize,
    usedBytes: (blocks - bfree) * bsize,
    inodes: files,
    inodesFree: ffree,
  };
}
