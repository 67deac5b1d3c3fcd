/** The cgroups of this node's pods and of their containers, as they lie in the tree: found there, not asked of the runtime. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { cgroupPath, podsCgroup, podUIDOfCgroup, qosCgroup, type CgroupDriver } from '../../shared/linux/cgroup-names.ts';
import { listingDirectory, type CgroupHierarchy } from './cgroup-usage.ts';

export interface PodCgroups {
  readonly podUID: string;
  /** Below each hierarchy's mount point. */
  readonly path: string;
  /** Sandboxes too: their ID is not told from a container's here. */
  readonly containers: readonly { readonly id: string; readonly path: string }[];
}

export interface PodCgroupsOptions {
  readonly hierarchy: CgroupHierarchy;
  readonly driver: CgroupDriver;
  readonly cgroupRoot: string;
}

/** Empty while the node has no cgroup for pods. */
export function findPodCgroups({ hierarchy, driver, cgroupRoot }: PodCgroupsOptions): PodCgroups[] {
  const layout = { cgroupRoot, cgroupsPerQOS: true };
  const parents = [podsCgroup(layout), qosCgroup(layout, 'Burstable'), qosCgroup(layout, 'BestEffort')].map((name) =>
    cgroupPath(name, driver),
  );
  const folders = (path: string) => subfolders(listingDirectory(hierarchy, path));
  return parents.flatMap((parent) =>
    folders(parent).flatMap((folder) => {
      const podUID = podUIDOfCgroup(folder, driver);
      if (podUID === undefined) return [];
      const path = join(parent, folder);
      return [{ podUID, path, containers: folders(path).map((child) => ({ id: containerIDOfCgroup(child), path: join(path, child) })) }];
    }),
  );
}

/** `<id>`, or `cri-containerd-<id>.scope`, `crio-<id>.scope` where systemd makes them. */
export function containerIDOfCgroup(folder: string): string {
  return folder.replace(/\.scope$/, '').replace(/^.*-/, '');
}

function subfolders(folder: string): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [entry.name] : []));
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw err;
  }
}
