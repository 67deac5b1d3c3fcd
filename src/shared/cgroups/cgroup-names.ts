/**
 * Names the node's cgroups and converts the names to the paths of each driver (upstream pkg/kubelet/cm/cgroup_manager_linux.go). Pure. Used
 * by the threads that create cgroups and by those that measure them.
 */
import type { QosClass } from '../kubernetes/qos-class.ts';

/** The components from the root: `['kubepods', 'burstable', 'pod<uid>']`. */
export type CgroupName = readonly string[];
export type CgroupDriver = 'cgroupfs' | 'systemd';

/** The configuration that the names depend on. */
export interface CgroupLayout {
  readonly cgroupRoot: string;
  readonly cgroupsPerQOS: boolean;
}

const nodeAllocatableRoot = 'kubepods';
const podPrefix = 'pod';
const sliceSuffix = '.slice';

/**
 * Appends components to a name. Throws for a component that could not be converted back: the systemd driver replaces `-` by `_`, so that `_`
 * is forbidden, and `/` would be another path.
 */
export function childCgroup(parent: CgroupName, ...components: readonly string[]): CgroupName {
  for (const component of components) {
    if (component === '' || component === '..' || /[/_\0]/.test(component)) {
      throw new Error(`${JSON.stringify(component)} cannot be part of a cgroup's name`);
    }
  }
  return [...parent, ...components];
}

/** Returns the cgroup of all pods: `kubepods` below `--cgroup-root`, or the root itself without `cgroupsPerQOS`. */
export function podsCgroup({ cgroupRoot, cgroupsPerQOS }: CgroupLayout): CgroupName {
  const root = cgroupRoot.split('/').filter((component) => component !== '');
  return cgroupsPerQOS ? childCgroup(root, nodeAllocatableRoot) : root;
}

/** Guaranteed pods are directly below `kubepods`, the others below the cgroup of their QoS class. */
export function qosCgroup(layout: CgroupLayout, qos: QosClass): CgroupName {
  const pods = podsCgroup(layout);
  return qos === 'Guaranteed' ? pods : childCgroup(pods, qos.toLowerCase());
}

export function podCgroup(layout: CgroupLayout, qos: QosClass, podUID: string): CgroupName {
  return childCgroup(qosCgroup(layout, qos), podPrefix + podUID);
}

/**
 * Returns the path below each hierarchy's mount point: `/kubepods/burstable/pod<uid>`, or nested slices with the systemd driver. It is also
 * the cgroup parent in a sandbox's config; runtimes with the systemd driver use its last slice.
 */
export function cgroupPath(name: CgroupName, driver: CgroupDriver): string {
  return driver === 'systemd' ? toSystemdPath(name) : `/${name.join('/')}`;
}

/** Parses a configured cgroup in the form of its driver: `/system`, or `/system.slice`, whose last slice names all components. */
export function parseCgroupName(text: string, driver: CgroupDriver): CgroupName {
  const components = text.split('/').filter(Boolean);
  if (driver === 'cgroupfs') return components;
  const slice = components.at(-1)?.replace(/\.slice$/, '') ?? '';
  return slice.split('-').filter(Boolean).map(unescape);
}

/** Returns the UID of the pod whose cgroup has this folder name (the last part of its path), or undefined for any other cgroup. */
export function podUIDOfCgroup(folder: string, driver: CgroupDriver): string | undefined {
  const last =
    driver === 'systemd'
      ? unescape(
          folder
            .replace(/\.slice$/, '')
            .split('-')
            .at(-1) ?? '',
        )
      : folder;
  return last.startsWith(podPrefix) && last.length > podPrefix.length ? last.slice(podPrefix.length) : undefined;
}

/** Every prefix is its own slice: `kubepods-burstable-podX.slice` is in `kubepods-burstable.slice`, which is in `kubepods.slice`. */
function toSystemdPath(name: CgroupName): string {
  if (name.length === 0) return '/';
  const parts = name.map((part) => part.replaceAll('-', '_'));
  return parts.map((_, index) => `/${parts.slice(0, index + 1).join('-')}${sliceSuffix}`).join('');
}

function unescape(part: string): string {
  return part.replaceAll('_', '-');
}
