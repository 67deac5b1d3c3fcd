/**
 * Writes files that survive a loss of power: a rename alone survives the end of the process, but not that of the host. Upstream's checkpoint
 * store (pkg/kubelet/util/store/filestore.go) syncs the file. This code also syncs the folder, without which the rename may be undone.
 *
 * A sync takes milliseconds, and on a busy disk a hundred times as long, in one of libuv's threads. Frequent writers must batch their changes.
 */
import { mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Replaces a file, by default readable only by root. After a crash of the host, the file has the new content if the returned promise had resolved;
 * otherwise it has the complete old or the complete new content.
 * @param temporary a path in the same folder that no other writer uses at the same time
 */
export async function writeDurably(path: string, temporary: string, content: string, mode = 0o600): Promise<void> {
  await replaceSynced(path, temporary, content, mode);
  await syncFolder(dirname(path));
}

/** As `writeDurably`, but until `syncFolder` a crash of the host may bring back the old content. */
export async function replaceSynced(path: string, temporary: string, content: string, mode = 0o600): Promise<void> {
  await replaceAllSynced([{ path, temporary, content }], mode);
}

export interface Replacement {
  readonly path: string;
  /** In the same folder; no other writer uses it at the same time. */
  readonly temporary: string;
  readonly content: string;
}

/**
 * As `replaceSynced`, for several files. No file is replaced before the new contents of all are on the disk; then the files are replaced in this order. If a
 * content can't be written, all files keep their old content.
 */
export async function replaceAllSynced(files: readonly Replacement[], mode = 0o600): Promise<void> {
  try {
    const written = await Promise.allSettled(files.map(({ temporary, content }) => writeSynced(temporary, content, mode)));
    for (const result of written) if (result.status === 'rejected') throw result.reason;
    for (const { path, temporary } of files) await rename(temporary, path);
  } catch (err) {
    await Promise.all(files.map(({ temporary }) => rm(temporary, { force: true }).catch(() => {})));
    throw err;
  }
}

async function writeSynced(path: string, content: string, mode: number): Promise<void> {
  const file = await open(path, 'w', mode);
  try {
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Also creates missing parent folders. */
export async function makeFolderDurably(path: string, mode = 0o700): Promise<void> {
  const topmost = await mkdir(path, { recursive: true, mode });
  if (topmost === undefined) return;
  for (let created = path; created.length >= topmost.length; created = dirname(created)) await syncFolder(dirname(created));
}

/** Makes creations, renames and removals in the folder durable. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
