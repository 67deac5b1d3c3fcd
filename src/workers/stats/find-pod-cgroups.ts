/** Finds the cgroups of the node's pods and their containers in the cgroup tree, without the runtime. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { cgroupPath, podsCgroup, podUIDOfCgroup, qosCgroup, type CgroupDriver } from '../../shared/linux/cgroup-names.ts';
import { listingDirectory, type CgroupHierarchy } from './cgroup-usage.ts';

export interface PodCgroups {
  readonly podUID: string;
  /** Relative to the mount point of each hierarchy. */
  readonly path: string;
  /** Includes sandboxes: the cgroup's name does not show the difference. */
  readonly containers: readonly { readonly id: string; readonly path: string }[];
}

export interface PodCgroupsOptions {
  readonly hierarchy: CgroupHierarchy;
  readonly driver: CgroupDriver;
  readonly cgroupRoot: string;
}

/** Empty if the node has no pod cgroups yet. */
export function findPodCgroups({ hierarchy, driver, cgroupRoot }: PodCgroupsOptions): PodCgroups[] {
  const layout = { cgroupRoot, cgroupsPerQOS: true };
  const parents = [podsCgroup(layout), qosCgroup(layout, 'Burstable'), qosCgroup(layout, 'BestEffort')].map((name) =>
    cgroupPath(name, driver),
  );
  const children = (path: string) => subdirectories(listingDirectory(hierarchy, path));
  return parents.flatMap((parent) =>
    children(parent).flatMap((directory) => {
      const podUID = podUIDOfCgroup(directory, driver);
      if (podUID === undefined) return [];
      const path = join(parent, directory);
      return [{ podUID, path, containers: children(path).map((child) => ({ id: containerIDOfCgroup(child), path: join(path, child) })) }];
    }),
  );
}

/** The directory is `<id>`, or with the systemd driver `cri-containerd-<id>.scope` or `crio-<id>.scope`. */
export function containerIDOfCgroup(directory: string): string {
  return directory.replace(/\.scope$/, '').replace(/^.*-/, '');
}

function subdirectories(directory: string): string[] {
  try {
    return readdirSync(directory, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [entry.name] : []));
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw err;
  }
}
