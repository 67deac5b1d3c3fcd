/** The names that runtimes give to the cgroups of containers, below the cgroup of the pod. Pure. */

/** CRI-O runs conmon, which is no part of a container, in `crio-conmon-<id>` or `crio-conmon-<id>.scope` (cadvisor ignores these, too). */
export function isConmonCgroup(directory: string): boolean {
  return directory.includes('conmon-');
}

/** The directory is `<id>`, `crio-<id>`, or with the systemd driver `cri-containerd-<id>.scope` or `crio-<id>.scope`. Empty: not a container's. */
export function containerIDOfCgroup(directory: string): string {
  if (isConmonCgroup(directory)) return '';
  return directory.replace(/\.scope$/, '').replace(/^.*-/, '');
}
