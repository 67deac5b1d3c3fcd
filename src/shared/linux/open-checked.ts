/**
 * Opens a file in a folder that others may write (a container, a pod with a hostPath) only where it truly lies: the place is found first,
 * without an effect on a device or a pipe that may stand there, and what was found is opened, not the path once more. So nothing can be
 * exchanged in between.
 */
import { constants, type Stats } from 'node:fs';
import { type FileHandle, open, readlink } from 'node:fs/promises';
import { openPath } from './directory-calls.ts';

export interface FoundPlace {
  /** Of the file itself, without links. */
  readonly realPath: string;
  readonly stats: Stats;
}

export interface OpenedFile extends FoundPlace {
  readonly handle: FileHandle;
}

/** NONBLOCK, NOCTTY: should the check let a pipe or a terminal pass. */
const readFlags = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;
/** What the kernel adds to the name of a file that was unlinked. */
const deletedMark = / \(deleted\)$/;

/** Symlinks are followed; `check` throws for a place that is not to be opened. Rejects with its error or the system's. The caller closes the handle. */
export async function openChecked(path: string, check: (place: FoundPlace) => void | Promise<void>): Promise<OpenedFile> {
  const place = await open(path, openPath);
  try {
    const name = `/proc/self/fd/${place.fd}`;
    const found = { realPath: (await readlink(name)).replace(deletedMark, ''), stats: await place.stat() };
    await check(found);
    return { ...found, handle: await open(name, readFlags) };
  } finally {
    await place.close();
  }
}
