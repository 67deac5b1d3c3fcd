/** Finds the sockets below the registration folder (upstream pkg/kubelet/pluginmanager/pluginwatcher). */
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';

export interface FoundSockets {
  /** By path. The value changes when another socket is made at the path. */
  readonly sockets: ReadonlyMap<string, string>;
  /** All folders, to be watched. */
  readonly folders: readonly string[];
}

/** Plugins make one socket each, and few make a folder for it. */
const maxEntries = 1000;
const maxDepth = 3;

/** As upstream, ignores what begins with a dot. Links are ignored too: they may lead out of the folder. */
export async function findSockets(root: string): Promise<FoundSockets> {
  const sockets = new Map<string, string>();
  const folders: string[] = [];
  let entries = 0;
  const visit = async (folder: string, depth: number): Promise<void> => {
    folders.push(folder);
    for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
      if ((entries += 1) > maxEntries) return;
      const path = join(folder, entry.name);
      if (entry.name.startsWith('.')) continue;
      if (entry.isDirectory() && depth < maxDepth) await visit(path, depth + 1);
      else if (entry.isSocket()) {
        const stats = await lstat(path).catch(() => null);
        if (stats) sockets.set(path, `${stats.ino} ${stats.ctimeMs}`);
      }
    }
  };
  await visit(root, 1);
  return { sockets, folders };
}
