/**
 * Changes /etc/projects and /etc/projid together, under the locks that upstream takes (flock on each). All threads of the pool, and other programs, may change
 * the files at the same time. A rename replaces a file, so the holder of a lock checks that the locked file is still the one at the path.
 */
import * as fs from 'node:fs';
import { constants } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ProjectFiles } from '../../../../../shared/linux/project-files.ts';
import { flock, LockOperation } from '../../../../../shared/linux/native.ts';

export interface ProjectFilePaths {
  readonly projects: string;
  readonly projid: string;
}

const openFlags = constants.O_RDONLY | constants.O_CREAT | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const createdMode = 0o644;
/** Enough for the lines of ten thousand volumes. */
const maxFileBytes = 2 * 1024 * 1024;
/** When another program keeps a lock for longer, the change fails, and the pod does not wait for it. */
const lockDeadlineMs = 2000;
const retryMs = 5;

/** `change` is called with the locks. Rejects with the system's error, or when a lock is held for too long. */
export async function changeProjectFiles(
  paths: ProjectFilePaths,
  signal: AbortSignal | undefined,
  change: (files: ProjectFiles) => ProjectFiles,
): Promise<void> {
  for (const startedAtMs = performance.now(); ;) {
    if (tryChange(paths, change)) return;
    if (performance.now() - startedAtMs > lockDeadlineMs)
      throw new Error(`another process holds the lock on ${paths.projects} or ${paths.projid}`);
    // With jitter, because several threads may wait.
    await sleep(retryMs * (1 + Math.random()), undefined, { signal });
  }
}

/** Returns false when another thread or process has a lock. Synchronous: a thread that has a lock runs nothing else that needs the lock. */
function tryChange(paths: ProjectFilePaths, change: (files: ProjectFiles) => ProjectFiles): boolean {
  const projects = openLocked(paths.projects);
  if (projects === null) return false;
  try {
    const projid = openLocked(paths.projid);
    if (projid === null) return false;
    try {
      const old = { projects: fs.readFileSync(projects, 'utf8'), projid: fs.readFileSync(projid, 'utf8') };
      const files = change(old);
      // projid, which names the projects, comes first. If the second write fails, a name without a directory is harmless; a directory whose project has no name
      // could not be found by name.
      if (files.projid !== old.projid) replace(paths.projid, projid, files.projid);
      if (files.projects !== old.projects) replace(paths.projects, projects, files.projects);
      return true;
    } finally {
      fs.closeSync(projid);
    }
  } finally {
    fs.closeSync(projects);
  }
}

/** Opens and locks the file, and creates a missing one. Closing the file unlocks it. Null: another process or thread has the lock, or has just replaced the file. */
function openLocked(path: string): number | null {
  const fd = fs.openSync(path, openFlags, createdMode);
  let isLocked = false;
  try {
    const stats = fs.fstatSync(fd);
    if (!stats.isFile() || stats.size > maxFileBytes) throw new Error(`${path} is not a plain file of at most ${maxFileBytes} bytes`);
    flock(fd, LockOperation.exclusive | LockOperation.nonBlocking);
    const current = fs.lstatSync(path, { throwIfNoEntry: false });
    isLocked = current?.ino === stats.ino && current.dev === stats.dev;
    return isLocked ? fd : null;
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === 'EAGAIN') return null;
    throw err;
  } finally {
    if (!isLocked) fs.closeSync(fd);
  }
}

/** Replaces the file, which keeps its mode. Only the thread with the lock uses the temporary name. */
function replace(path: string, fd: number, content: string): void {
  const temporary = `${path}.kubelet`;
  try {
    fs.writeFileSync(temporary, content);
    fs.chmodSync(temporary, fs.fstatSync(fd).mode & 0o777);
    fs.renameSync(temporary, path);
  } catch (err) {
    fs.rmSync(temporary, { force: true });
    throw err;
  }
}

/** Returns whether the file may have lines for directories below the folder. Takes no lock, and is cheap on nodes without projects. */
export function mayHaveDirectoriesBelow({ projects }: ProjectFilePaths, folder: string): boolean {
  const stats = fs.lstatSync(projects, { throwIfNoEntry: false });
  if (!stats?.isFile() || stats.size === 0 || stats.size > maxFileBytes) return false;
  return fs.readFileSync(projects, 'utf8').includes(`:${folder}/`);
}
