/** Reads the disk usage of a single file that the kubelet has written. Synchronous, as the reads of log folders. */
import { lstatSync } from 'node:fs';
import type { LogUsage } from '../read-log-usage.ts';

/** The unit of `st_blocks`. */
const blockBytes = 512;

/** Undefined when there is no such file. */
export function readFileUsage(path: string): LogUsage | undefined {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  return stat && { bytes: stat.blocks * blockBytes, inodes: 1 };
}
