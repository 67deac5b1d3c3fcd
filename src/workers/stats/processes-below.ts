/**
 * Finds processes of a pod that are not in the cgroup where they belong: crun has a sub-cgroup for each container, a sandbox of CRI-O may have no process of its
 * own, and that of a virtual machine has another name. Bounded: a tenant with a cgroup namespace makes as many cgroups as it likes.
 */
import { opendirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { readCgroupFile } from './cgroup-file.ts';
import { isConmonCgroup } from './container-cgroup-names.ts';

const maxDirectories = 64;
/** Files too: a cgroup of v2 has about 60. */
const maxEntries = 256;
const maxProcessesPerDirectory = 16;

/** Returns the PIDs in the directories below this one, one per line. */
export function readChildProcesses(directory: string): string {
  return childrenOf(directory)
    .map((child) => readCgroupFile(join(child, 'cgroup.procs')) ?? '')
    .join('');
}

/**
 * Returns a process in the pod's network namespace, somewhere below the directory of its cgroup. A process in that of the host is none: a monitor of the runtime.
 * Undefined when there is none.
 */
export function findPodProcess(directory: string, proc: string): number | undefined {
  const hostNamespace = networkNamespace(proc, '1');
  const queue = [directory];
  for (let index = 0; index < Math.min(queue.length, maxDirectories); index += 1) {
    const pids = (readCgroupFile(join(queue[index]!, 'cgroup.procs')) ?? '').split('\n', maxProcessesPerDirectory).filter(Boolean);
    const found = pids.find((pid) => ![hostNamespace, undefined].includes(networkNamespace(proc, pid)));
    if (found !== undefined) return Number(found);
    queue.push(...childrenOf(queue[index]!));
  }
  return undefined;
}

/** Reads a bounded part of the directory. */
function childrenOf(directory: string): string[] {
  const children: string[] = [];
  let handle;
  try {
    handle = opendirSync(directory);
    for (let read = 0; read < maxEntries && children.length < maxDirectories; read += 1) {
      const entry = handle.readSync();
      if (!entry) break;
      if (entry.isDirectory() && !isConmonCgroup(entry.name)) children.push(join(directory, entry.name));
    }
  } catch {
    // The cgroup is gone.
  } finally {
    handle?.closeSync();
  }
  return children;
}

function networkNamespace(proc: string, pid: string): string | undefined {
  try {
    return readlinkSync(join(proc, pid, 'ns/net'));
  } catch {
    return undefined;
  }
}
