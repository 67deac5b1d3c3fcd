/**
 * Reads the disk usage of a container's logs: the files in its log folder, which only the runtime and the kubelet write to. Synchronous, since a node has
 * thousands of these small folders: an asynchronous call costs several times as much. Upstream: pkg/kubelet/stats/host_stats_provider.go.
 */
import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

export interface LogUsage {
  readonly bytes: number;
  readonly inodes: number;
}

/** The unit of `st_blocks`. */
const blockBytes = 512;

/** Undefined when there is no such folder. Folders in it do not count, as in upstream. */
export function readLogUsage(directory: string): LogUsage | undefined {
  let names: string[];
  try {
    names = readdirSync(directory);
  } catch (err) {
    if (['ENOENT', 'ENOTDIR'].includes((err as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw err;
  }
  let bytes = 0;
  let inodes = 0;
  for (const name of names) {
    // A rotation may have removed the file meanwhile.
    const stat = lstatSync(join(directory, name), { throwIfNoEntry: false });
    if (!stat || stat.isDirectory()) continue;
    bytes += stat.blocks * blockBytes;
    inodes += 1;
  }
  return { bytes, inodes };
}
