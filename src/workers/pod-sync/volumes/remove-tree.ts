/**
 * Removes a folder with all that is in it, of one filesystem, following no link: what a mount or a link leads to is never a pod's to
 * remove (upstream pkg/util/removeall). The caller has proved from the mount table that nothing is mounted below.
 */
import { type Dirent } from 'node:fs';
import { lstat, readdir, rmdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';

export interface RemoveTreeOptions {
  /** Refuse to remove a file: it may be data of a volume that this kubelet does not know. */
  readonly foldersOnly?: boolean;
  readonly signal?: AbortSignal | undefined;
}

/** Rejects with an Error that names what could not be removed. What is not there is a success. */
export async function removeTree(path: string, options: RemoveTreeOptions = {}): Promise<void> {
  const stats = await lstat(path).catch(ignoreMissing);
  if (!stats) return;
  if (stats.isDirectory()) await removeFolder(path, stats.dev, options);
  else await removeFile(path, options);
}

async function removeFolder(path: string, device: number, options: RemoveTreeOptions): Promise<void> {
  options.signal?.throwIfAborted();
  const found = (await lstat(path).catch(ignoreMissing))?.dev ?? device;
  if (found !== device) throw new Error(`${path} is on another filesystem: not removed`);
  const entries: Dirent[] = (await readdir(path, { withFileTypes: true }).catch(ignoreMissing)) ?? [];
  for (const entry of entries) {
    const child = join(path, entry.name);
    if (entry.isDirectory()) await removeFolder(child, device, options);
    else await removeFile(child, options);
  }
  await rmdir(path).catch(ignoreMissing);
}

async function removeFile(path: string, { foldersOnly = false }: RemoveTreeOptions): Promise<void> {
  if (foldersOnly) throw new Error(`${path} is a file where only mount points should be left: not removed`);
  await unlink(path).catch(ignoreMissing);
}

function ignoreMissing(err: NodeJS.ErrnoException): undefined {
  if (err.code !== 'ENOENT') throw err;
}
