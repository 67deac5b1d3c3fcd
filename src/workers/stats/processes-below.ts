/**
 * Finds processes of a pod that are not in the cgroup where they are expected. crun creates a sub-cgroup for each container. A sandbox of CRI-O may have no
 * process of its own. The cgroup of a virtual machine has another name. gVisor has processes of the sandbox that are not in the network of the pod. The search
 * has limits, because a tenant with a cgroup namespace can create any number of cgroups.
 */
import { opendirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { readCgroupFile } from './cgroup-file.ts';
import { isConmonCgroup } from './container-cgroup-names.ts';

const maxDirectories = 64;
/** Includes files: a cgroup of v2 has about 60. */
const maxEntries = 256;
const maxProcessesPerDirectory = 16;
const maxNamespaces = 8;

/** Returns the PIDs of the cgroups directly below this directory, one per line. */
export function readChildProcesses(directory: string): string {
  return childrenOf(directory)
    .map((child) => readCgroupFile(join(child, 'cgroup.procs')) ?? '')
    .join('');
}

/**
 * Yields one process for each network namespace of the processes at or below the directory of the pod's cgroup. The host's network namespace is left out: the
 * runtime's monitors are in it.
 */
export function* findNetworks(directory: string, proc: string): Generator<number> {
  const seen = new Set([networkNamespace(proc, '1'), undefined]);
  const known = seen.size;
  const queue = [directory];
  for (let index = 0; index < Math.min(queue.length, maxDirectories); index += 1) {
    const pids = (readCgroupFile(join(queue[index]!, 'cgroup.procs')) ?? '').split('\n', maxProcessesPerDirectory).filter(Boolean);
    for (const pid of pids) {
      const namespace = networkNamespace(proc, pid);
      if (seen.has(namespace)) continue;
      seen.add(namespace);
      yield Number(pid);
      if (seen.size - known === maxNamespaces) return;
    }
    queue.push(...childrenOf(queue[index]!));
  }
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
