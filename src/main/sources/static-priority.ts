/** Warns of priorities that a static pod cannot use (upstream getStaticPodPriorityWarning in pkg/kubelet/config/common.go). */
import type { Pod } from '../../shared/kubernetes/api.ts';
import { nodeCriticalClass, nodeCriticalPriority } from '../../shared/kubernetes/critical-pod.ts';
import type { Logger } from '../../shared/log/logger.ts';

/** Returns upstream's sentence, or null. The kubelet does not read priority classes, which are objects of the API server. */
export function staticPriorityWarning({ spec: { priority, priorityClassName = '' } }: Pod): string | null {
  if (priority === undefined) {
    return priorityClassName === ''
      ? null
      : 'Static pod has priorityClassName and nil priority. Kubelet will not use priorityClassName, and mirror pod creation may fail.';
  }
  if (priorityClassName === '') {
    return "Static pod has priority without priorityClassName. Mirror pod creation may fail if the default priority class doesn't match the given priority.";
  }
  if (priority === nodeCriticalPriority && priorityClassName === nodeCriticalClass) return null;
  return `Static pod has a priority other than ${nodeCriticalPriority} or a priorityClassName other than ${nodeCriticalClass}. Mirror pod may be attempted to be evicted from the node ineffectively.`;
}

/** Returns a function that logs each warning once, with the first pod that it is about. */
export function createPriorityWarnings(logger: Logger): (pods: readonly Pod[]) => void {
  const logged = new Set<string>();
  return (pods) => {
    for (const pod of pods) {
      const warning = staticPriorityWarning(pod);
      if (warning === null || logged.has(warning)) continue;
      logged.add(warning);
      logger.info({ pod: { name: pod.metadata.name, namespace: pod.metadata.namespace } }, warning);
    }
  };
}
