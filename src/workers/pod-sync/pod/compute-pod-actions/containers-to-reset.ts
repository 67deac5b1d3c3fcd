/** Computes the reset of a pod by RestartAllContainers: all its containers are removed, and then start again in the same sandbox. */
import type { Container } from '../../../../shared/kubernetes/api.ts';
import { matchingRestartRule } from '../../../../shared/kubernetes/restart-policy.ts';
import type { ContainerToReset, PodActionsInput } from './pod-actions.ts';

/**
 * The containers that triggered the reset are removed last. If the kubelet restarts during the reset, they still show the reason (upstream
 * getContainersToReset). All instances of a container are removed, not only the newest.
 */
export function computeContainersToReset({ pod, status }: PodActionsInput): ContainerToReset[] {
  const partition = (containers: readonly Container[]) => {
    const sources: ContainerToReset[] = [];
    const targets: ContainerToReset[] = [];
    for (const container of containers) {
      for (const { id, name, state, exitCode, finishedAtMs } of status?.containers ?? []) {
        if (name !== container.name) continue;
        const exited = state === 'exited';
        const isSource = exited && matchingRestartRule(container, exitCode)?.action === 'RestartAllContainers';
        (isSource ? sources : targets).push({ id, name, kill: !exited, ...(isSource && { triggeredAtMs: finishedAtMs }) });
      }
    }
    return { sources, targets };
  };
  const init = partition(pod.spec.initContainers ?? []);
  const regular = partition(pod.spec.containers);
  return [...regular.targets, ...init.targets, ...regular.sources, ...init.sources];
}
