/**
 * Opens a file in a folder that others may write (a container, a pod with a hostPath) after a check of its real location. An O_PATH handle
 * finds the file without an effect on a device or a pipe. The file is then opened through that handle, and not by its path, so that it cannot
 * be swapped after the check.
 */
import { constants, type Stats } from 'node:fs';
import { type FileHandle, open, readlink } from 'node:fs/promises';
import { openPath } from './directory-calls.ts';

export interface FileLocation {
  /** The path of the file itself, without symlinks. */
  readonly realPath: string;
  readonly stats: Stats;
}

export interface OpenedFile extends FileLocation {
  readonly handle: FileHandle;
}

/** NONBLOCK and NOCTTY: the check may accept a pipe or a terminal. */
const readFlags = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;
/** The kernel's suffix for the path of an unlinked file. */
const deletedSuffix = / \(deleted\)$/;

/** Follows symlinks. `check` throws to prevent the opening. Rejects with the error of `check` or of the system. The caller closes the handle. */
export async function openChecked(path: string, check: (location: FileLocation) => void | Promise<void>): Promise<OpenedFile> {
  const locationHandle = await open(path, openPath);
  try {
    const name = `/proc/self/fd/${locationHandle.fd}`;
    const location = { realPath: (await readlink(name)).replace(deletedSuffix, ''), stats: await locationHandle.stat() };
    await check(location);
    return { ...location, handle: await open(name, readFlags) };
  } finally {
    await locationHandle.close();
  }
}
