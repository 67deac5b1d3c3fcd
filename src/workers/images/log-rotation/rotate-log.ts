/**
 * Rotates one log: removes what is above the limit, gives the log a new name, and lets the runtime open a new file. A kubelet that ends
 * between two steps loses nothing: the container writes on into the renamed file, and the next check finds no log and reopens it.
 */
import { link, lstat, readdir, rename, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { LogFolder } from '../../../shared/container-logs/open-log-folder.ts';
import type { RotatedLog } from './compression-queue.ts';
import { planRotation, type LogFolderFile } from './plan-rotation.ts';

export interface RotateLogOptions {
  readonly maxFiles: number;
  readonly nowMs: number;
  /** ReopenContainerLog. */
  readonly reopen: () => Promise<void>;
  /** Whether an archive of this file name is being written. */
  readonly isInProgress: (name: string) => boolean;
  /** A file that can't be removed does not stop the rotation. */
  readonly onRemovalError: (name: string, err: unknown) => void;
}

/** The runtime failed to reopen the log, but created the new file. It may write to either. */
export class HalfReopenedError extends Error {
  override readonly name = 'HalfReopenedError';
}

/**
 * Resolves to the rotated logs to compress, with the names of their files as paths. Rejects with the runtime's or the file system's error; the log then has its old
 * name, except with HalfReopenedError.
 */
export async function rotateLog(folder: LogFolder, options: RotateLogOptions): Promise<readonly RotatedLog[]> {
  const { log, path } = folder;
  const { maxFiles, nowMs, reopen, onRemovalError } = options;
  const files = await listFiles(folder, options);
  const { remove, compress, rotated } = planRotation({ log, files, maxFiles, nowMs });
  for (const name of remove) await unlink(join(path, name)).catch((err: unknown) => isMissing(err) || onRemovalError(name, err));
  await rename(join(path, log), join(path, rotated));
  try {
    await reopen();
    await lstat(join(path, log));
  } catch (err) {
    await restore(join(path, rotated), join(path, log), err);
    throw err;
  }
  return Promise.all(compress.map(async (name) => ({ path: name, sizeBytes: await sizeOf(join(path, name)) })));
}

/** 0 for a file that is gone meanwhile. */
async function sizeOf(path: string): Promise<number> {
  const stats = await lstat(path).catch(() => null);
  return stats?.size ?? 0;
}

async function listFiles({ log, path }: LogFolder, { isInProgress }: RotateLogOptions): Promise<LogFolderFile[]> {
  const current = await lstat(join(path, log));
  const entries = await readdir(path, { withFileTypes: true });
  const files: LogFolderFile[] = [];
  for (const entry of entries) {
    const { name } = entry;
    const isFile = entry.isFile();
    // Only a log with several names can be one of the other files.
    const stats = current.nlink > 1 && isFile && name !== log ? await lstat(join(path, name)).catch(() => null) : null;
    files.push({ name, isFile, isCurrentLog: stats?.ino === current.ino && stats?.dev === current.dev, isInProgress: isInProgress(name) });
  }
  return files;
}

/**
 * Gives the log its name back. A runtime that failed late may have created the new file meanwhile; a rename would remove it together
 * with its lines, a link fails.
 */
async function restore(rotated: string, log: string, cause: unknown): Promise<void> {
  try {
    await link(rotated, log);
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === 'EEXIST') throw new HalfReopenedError('the runtime has created the log', { cause });
    // A file system without links.
    return rename(rotated, log);
  }
  await unlink(rotated);
}

function isMissing(err: unknown): boolean {
  return (err as NodeJS.ErrnoException).code === 'ENOENT';
}
