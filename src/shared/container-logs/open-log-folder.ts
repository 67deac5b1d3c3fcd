/**
 * Opens the folder of a container's log, for changes in it. A pod that collects logs may replace any part of the path by a symlink, so
 * changes go through the handle of a folder whose real location was checked.
 */
import { constants } from 'node:fs';
import { open, readlink, realpath, type FileHandle } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { openPath } from '../linux/directory-calls.ts';
import { isWithin } from '../linux/mountinfo.ts';

export interface LogFolder {
  readonly handle: FileHandle;
  /** The folder, through its handle. Valid until the handle is closed. */
  readonly path: string;
  /** The file name of the log. */
  readonly log: string;
}

/**
 * Resolves to null when there is no such folder, or when it is not below `podLogsDir`. Rejects with the file system's error. The caller
 * closes the handle.
 */
export async function openLogFolder(podLogsDir: string, logPath: string): Promise<LogFolder | null> {
  if (!logPath.startsWith(`${podLogsDir}/`) || logPath.split('/').includes('..')) return null;
  const handle = await open(dirname(logPath), openPath | constants.O_DIRECTORY | constants.O_NOFOLLOW).catch(ifNoFolder);
  if (!handle) return null;
  try {
    const path = `/proc/self/fd/${handle.fd}`;
    if (isWithin(await readlink(path), await realpath(podLogsDir))) return { handle, path, log: basename(logPath) };
  } catch (err) {
    await handle.close();
    throw err;
  }
  await handle.close();
  return null;
}

function ifNoFolder(err: NodeJS.ErrnoException): undefined {
  if (err.code !== 'ENOENT' && err.code !== 'ENOTDIR' && err.code !== 'ELOOP') throw err;
}
