/** Finds the cgroup of a process in the text of /proc/<pid>/cgroup. Pure. */

/**
 * From the lines `4:memory:/a` (v1) or `0::/a` (v2). Empty on v1 when cpu and memory have different paths: there is no one cgroup then.
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
  // The systemd hierarchy has the unit, also when no controller is enabled for it.
  return paths.get('name=systemd') ?? cpu;
}
