/**
 * Files that are as they should be after the power was lost too: a rename alone outlives the process, not the host. Upstream's checkpoint
 * store (pkg/kubelet/util/store/filestore.go) syncs the file; here the folder is synced as well, without which the rename may be undone.
 *
 * A sync takes milliseconds, and on a busy disk a hundred times that, in one of libuv's file threads: who writes often writes what has
 * come together at once, and one file after the other.
 */
import { mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Replaces a file, by default for root's eyes only. Once this has resolved the new content is what is found whatever happens to the host; until then
 * it is the old or the new one, whole.
 * @param temporary in the same folder, and nobody else's while this runs
 */
export async function writeDurably(path: string, temporary: string, content: string, mode = 0o600): Promise<void> {
  try {
    const file = await open(temporary, 'w', mode);
    try {
      await file.writeFile(content);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (err) {
    await rm(temporary, { force: true }).catch(() => {});
    throw err;
  }
  await syncFolder(dirname(path));
}

/** With what is missing above it. */
export async function makeFolderDurably(path: string, mode = 0o700): Promise<void> {
  const topmost = await mkdir(path, { recursive: true, mode });
  if (topmost === undefined) return;
  for (let made = path; made.length >= topmost.length; made = dirname(made)) await syncFolder(dirname(made));
}

/** What was made, renamed and removed in it stays so. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
