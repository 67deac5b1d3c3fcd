/** Reads the usage of a filesystem with statfs(2), as cadvisor does, and its device. */
import { stat, statfs } from 'node:fs/promises';
import type { FilesystemRow } from '../state/filesystem-table.ts';

/** Rejects with Node's error. May hang with the filesystem: the caller needs a deadline, and must not call again meanwhile. */
export async function readFilesystemUsage(path: string, nowMs: number): Promise<FilesystemRow> {
  const [{ bsize, blocks, bfree, bavail, files, ffree }, { dev }] = await Promise.all([statfs(path), stat(path)]);
  return {
    readAtMs: nowMs,
    device: dev,
    capacityBytes: blocks * bsize,
    availableBytes: bavail * bsize,
    usedBytes: (blocks - bfree) * bsize,
    inodes: files,
    inodesFree: ffree,
    inodesUsed: files - ffree,
  };
}
