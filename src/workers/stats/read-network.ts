/**
 * Reads the interfaces of a process' network namespace from /proc/<pid>/net/dev. The handle is not kept: an open file would keep the namespace of an ended
 * sandbox alive.
 */
import { parseNetDev, toBoundedJSON } from './parse-cgroup-files.ts';
import { readCgroupFile } from './cgroup-file.ts';

/** Returns an InterfaceUsage[] as JSON, with as many interfaces as fit. Empty when the process is gone. */
export function readNetwork(pid: number, maxBytes: number): string {
  const content = readCgroupFile(`/proc/${pid}/net/dev`);
  return content === undefined ? '[]' : toBoundedJSON(parseNetDev(content), maxBytes);
}
