/**
 * The names of the node's cgroups, and the paths that each driver makes of them (upstream pkg/kubelet/cm/cgroup_manager_linux.go).
 * Pure; shared by those who make cgroups and those who measure them.
 */
import type { QosClass } from '../kubernetes/qos-class.ts';

/** From the root downwards: `['kubepods', 'burstable', 'pod<uid>']`. */
export type CgroupName = readonly string[];
export type CgroupDriver = 'cgroupfs' | 'systemd';

/** What of the configuration the names depend on. */
export interface CgroupLayout {
  readonly cgroupRoot: string;
  readonly cgroupsPerQOS: boolean;
}

const nodeAllocatableRoot = 'kubepods';
const podPrefix = 'pod';
const sliceSuffix = '.slice';

/**
 * A name with more components behind it. Throws on what could not be read back: the systemd driver turns `-` into `_`, so that
 * `_` is forbidden, and `/` would lead elsewhere.
 */
export function childCgroup(parent: CgroupName, ...components: readonly string[]): CgroupName {
  for (const component of components) {
    if (component === '' || component === '..' || /[/_\0]/.test(component)) {
      throw new Error(`${JSON.stringify(component)} cannot be part of a cgroup's name`);
    }
  }
  return [...parent, ...components];
}

/** The cgroup that holds all pods: `kubepods` below `--cgroup-root`; the root itself without `cgroupsPerQOS`. */
export function podsCgroup({ cgroupRoot, cgroupsPerQOS }: CgroupLayout): CgroupName {
  const root = cgroupRoot.split('/').filter((component) => component !== '');
  return cgroupsPerQOS ? childCgroup(root, nodeAllocatableRoot) : root;
}

/** Guaranteed pods are directly below `kubepods`, the others below their class. */
export function qosCgroup(layout: CgroupLayout, qos: QosClass): CgroupName {
  const pods = podsCgroup(layout);
  return qos === 'Guaranteed' ? pods : childCgroup(pods, qos.toLowerCase());
}

export function podCgroup(layout: CgroupLayout, qos: QosClass, podUID: string): CgroupName {
  return childCgroup(qosCgroup(layout, qos), podPrefix + podUID);
}

/**
 * Below each hierarchy's mount point: `/kubepods/burstable/pod<uid>`, or the nested slices of systemd. A sandbox's config names its
 * cgroup parent by the same path; runtimes with the systemd driver take its last slice.
 */
export function cgroupPath(name: CgroupName, driver: CgroupDriver): string {
  return driver === 'systemd' ? toSystemdPath(name) : `/${name.join('/')}`;
}

/** The pod whose cgroup has this folder name (the last part of its path); undefined for any other cgroup. */
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

/** `kubepods-burstable-podX.slice` lies in `kubepods-burstable.slice` in `kubepods.slice`: every prefix is a slice of its own. */
function toSystemdPath(name: CgroupName): string {
  if (name.length === 0) return '/';
  const parts = name.map((part) => part.replaceAll('-', '_'));
  return parts.map((_, index) => `/${parts.slice(0, index + 1).join('-')}${sliceSuffix}`).join('');
}

function unescape(part: string): string {
  return part.replaceAll('_', '-');
}
