/**
 * Creates files and folders, and sets their modes and owners, through open handles: a symlink that appears at a path leads to an error, never
 * to a file of the host (decision 018). The calls block, and are for the kubelet's own folders on the node's disk and on tmpfs.
 */
import * as fs from 'node:fs';

const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_RDONLY, O_WRONLY } = fs.constants;

export interface NewFile {
  readonly content: string | Uint8Array;
  readonly mode: number;
  /** Root when absent. The group stays the kubelet's, or the one that a set-group-ID folder gives. */
  readonly user?: number | undefined;
}

/** Creates a file with exactly this mode, whatever the umask is. Throws the system's error, EEXIST also for a symlink. */
export function createFile(path: string, { content, mode, user }: NewFile): void {
  // Nobody but root may read the file until it has its owner and mode.
  const fd = fs.openSync(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
  try {
    fs.writeFileSync(fd, content);
    fs.fchmodSync(fd, mode);
    // −1 keeps the group.
    if (user !== undefined) fs.fchownSync(fd, user, -1);
  } finally {
    fs.closeSync(fd);
  }
}

/**
 * Calls `use` with a path that leads through the handle of the folder, and stays that folder when its name is given to another one. Throws ELOOP or
 * ENOTDIR for a symlink.
 */
export async function withFolder<T>(path: string, use: (handlePath: string, fd: number) => Promise<T> | T): Promise<T> {
  const fd = fs.openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  try {
    return await use(`/proc/self/fd/${fd}`, fd);
  } finally {
    fs.closeSync(fd);
  }
}

/** Sets a folder's mode: `change` gets the folder's current permission, sticky and set-ID bits, and returns the wanted ones. */
export function changeFolderMode(path: string, change: (mode: number) => number): Promise<void> {
  return withFolder(path, (_, fd) => {
    const current = fs.fstatSync(fd).mode & 0o7777;
    const wanted = change(current);
    if (wanted !== current) fs.fchmodSync(fd, wanted);
  });
}
