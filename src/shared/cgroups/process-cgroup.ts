/** Finds the cgroup of a process in the text of /proc/<pid>/cgroup. Pure. */

/**
 * Parses lines such as `4:memory:/a` (v1) or `0::/a` (v2). Returns an empty text when the paths of cpu and memory differ on v1: the process then
 * has no single cgroup.
 * Upstream: getContainer of pkg/kubelet/cm/container_manager_linux.go.
 */
export function cgroupOfProcess(text: string): string {
  const paths = new Map<string, string>();
  for (const [, controllers = '', path = ''] of text.matchAll(/^\d+:([^:]*):(.*)$/gm)) {
    for (const controller of controllers.split(',')) paths.set(controller, path);
  }
  const cpu = paths.get('cpu');
  if (cpu === undefined) return paths.get('') ?? '';
  if (cpu !== paths.get('memory')) return '';
  // The hierarchy `name=systemd` names the process's unit, even when the unit has no cgroup of its own for cpu and memory.
  return paths.get('name=systemd') ?? cpu;
}
