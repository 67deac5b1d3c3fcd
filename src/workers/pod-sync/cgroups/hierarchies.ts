/** Where this host's cgroups are: one hierarchy for each controller (v1), or one for all (v2). The mount point is a parameter. */
import { existsSync, realpathSync } from 'node:fs';
import { join } from 'node:path';

export interface Hierarchy {
  readonly mount: string;
  /** v1: those that are mounted here together, or `hybrid`; v2: `unified`. */
  readonly controllers: readonly string[];
}

/** Those in which runtimes make a pod's cgroup (runc's fs manager). */
const controllersV1 = [
  'blkio',
  'cpu',
  'cpuacct',
  'cpuset',
  'devices',
  'freezer',
  'hugetlb',
  'memory',
  'misc',
  'net_cls',
  'net_prio',
  'perf_event',
  'pids',
  'rdma',
  'systemd',
];

/** Those without which a pod's cgroup does not count as there, where they are mounted (upstream cgroupV1impl.Validate). */
export const requiredV1: ReadonlySet<string> = new Set(['cpu', 'cpuacct', 'cpuset', 'hugetlb', 'memory', 'pids', 'systemd']);

/** What pods are given of v2's controllers, where the root has them. */
export const wantedV2 = ['cpu', 'cpuset', 'memory', 'hugetlb', 'pids'];

/** Throws when nothing is mounted at `root`. On this thread: a trip to libuv's for each of fifteen looks took 100 ms beside a burst. */
export function findHierarchies(root: string, version: 1 | 2): Hierarchy[] {
  if (version === 2) return [{ mount: root, controllers: ['unified'] }];
  const byMount = new Map<string, string[]>();
  for (const controller of controllersV1) {
    // `cpu` is often a link to `cpu,cpuacct`.
    const folder = join(root, controller);
    if (!existsSync(folder)) continue;
    const mount = realpathSync(folder);
    byMount.set(mount, [...(byMount.get(mount) ?? []), controller]);
  }
  if (byMount.size === 0) throw new Error(`no cgroup v1 hierarchy is mounted below ${root}`);
  // Beside v1's, systemd may have v2's without controllers: runtimes put processes there too, and leave the pod's folder (runc's fs manager).
  const hybrid = join(root, 'unified');
  const isHybrid = existsSync(join(hybrid, 'cgroup.controllers'));
  const all = Array.from(byMount, ([mount, controllers]) => ({ mount, controllers }));
  return isHybrid ? [...all, { mount: hybrid, controllers: ['hybrid'] }] : all;
}
