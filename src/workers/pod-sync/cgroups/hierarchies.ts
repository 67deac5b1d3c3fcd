/** Finds the cgroup hierarchies of this host: one for each controller (v1) or one for all (v2). */
import { existsSync, realpathSync } from 'node:fs';
import { join } from 'node:path';

export interface Hierarchy {
  readonly mount: string;
  /** v1: the controllers that share this mount, or `hybrid`; v2: `unified`. */
  readonly controllers: readonly string[];
}

/** The hierarchies in which runtimes create a pod's cgroup (runc's fs manager). */
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

/** A pod's cgroup must exist in these hierarchies, if they are mounted (upstream cgroupV1impl.Validate). */
export const requiredControllersV1: ReadonlySet<string> = new Set(['cpu', 'cpuacct', 'cpuset', 'hugetlb', 'memory', 'pids', 'systemd']);

/** The v2 controllers that pods get, if the root has them. */
export const podControllersV2 = ['cpu', 'cpuset', 'memory', 'hugetlb', 'pids'];

/** Throws when nothing is mounted at `root`. Blocks the thread: fifteen round trips to libuv's threads took 100 ms during a burst of pods. */
export function findHierarchies(root: string, version: 1 | 2): Hierarchy[] {
  if (version === 2) return [{ mount: root, controllers: ['unified'] }];
  const byMount = new Map<string, string[]>();
  for (const controller of controllersV1) {
    // `cpu` is often a symlink to `cpu,cpuacct`.
    const folder = join(root, controller);
    if (!existsSync(folder)) continue;
    const mount = realpathSync(folder);
    byMount.set(mount, [...(byMount.get(mount) ?? []), controller]);
  }
  if (byMount.size === 0) throw new Error(`no cgroup v1 hierarchy is mounted below ${root}`);
  // Systemd may mount the v2 hierarchy without controllers in addition to v1. Runtimes put processes there too, and leave the pod's folder
  // behind (runc's fs manager).
  const hybrid = join(root, 'unified');
  const isHybrid = existsSync(join(hybrid, 'cgroup.controllers'));
  const hierarchies = Array.from(byMount, ([mount, controllers]) => ({ mount, controllers }));
  return isHybrid ? [...hierarchies, { mount: hybrid, controllers: ['hybrid'] }] : hierarchies;
}
