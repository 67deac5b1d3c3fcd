/** RestartAllContainers: every container that the runtime has of the pod is removed, and all begins again in the same sandbox. */
import type { Container } from '../../../shared/kubernetes/api.ts';
import { matchingRestartRule } from '../../../shared/kubernetes/restart-policy.ts';
import type { ContainerToReset, PodActionsInput } from './pod-actions.ts';

/**
 * The containers that triggered it go last: as long as one of them is there, a kubelet that is restarted in the middle still sees
 * why (upstream getContainersToReset). All instances of a name count, not only the newest.
 */
export function containersToReset({ pod, status }: PodActionsInput): ContainerToReset[] {
  const sortOut = (containers: readonly Container[]) => {
    const sources: ContainerToReset[] = [];
    const targets: ContainerToReset[] = [];
    for (const container of containers) {
      for (const { id, name, state, exitCode } of status?.containers ?? []) {
        if (name !== container.name) continue;
        const exited = state === 'exited';
        const isSource = exited && matchingRestartRule(container, exitCode)?.action === 'RestartAllContainers';
        (isSource ? sources : targets).push({ id, name, kill: !exited });
      }
    }
    return { sources, targets };
  };
  const init = sortOut(pod.spec.initContainers ?? []);
  const regular = sortOut(pod.spec.containers);
  return [...regular.targets, ...init.targets, ...regular.sources, ...init.sources];
}
