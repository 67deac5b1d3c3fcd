/** Computes the actions of a pod that needs a new sandbox: all containers start again, unless the pod has finished. */
import type { Container } from '../../../shared/kubernetes/api.ts';
import { effectiveRestartPolicy } from '../../../shared/kubernetes/restart-policy.ts';
import { findContainerStatus, type PodActions, type PodActionsInput } from './pod-actions.ts';

export function computeNewSandboxActions(
  input: PodActionsInput,
  attempt: number,
): Partial<Pick<PodActions, 'createSandbox' | 'initContainersToStart' | 'containersToStart'>> {
  const { pod, status } = input;
  // With restartPolicy Never, a pod that has run is finished. A pod whose containers were never created gets another sandbox.
  const hasRun = attempt !== 0 && status !== null && status.containers.length > 0;
  if (pod.spec.restartPolicy === 'Never' && hasRun) return { createSandbox: false };

  const toStart = pod.spec.containers.filter((container) => !hasSucceeded(container, input)).map(({ name }) => name);
  if (toStart.length === 0 && hasAnyRegularContainerRun(input)) return { createSandbox: false };

  // In a new sandbox, initialization starts from the first init container.
  const firstInit = pod.spec.initContainers?.[0];
  return firstInit ? { initContainersToStart: [firstInit.name] } : { containersToStart: toStart };
}

/** Returns whether the container has succeeded and restarts only on failure. */
function hasSucceeded(container: Container, input: PodActionsInput): boolean {
  const current = findContainerStatus(input.status, container.name);
  return effectiveRestartPolicy(container, input.pod.spec, input) === 'OnFailure' && current?.state === 'exited' && current.exitCode === 0;
}

/** Upstream HasAnyRegularContainerCreated: it implies that the init containers have completed. */
function hasAnyRegularContainerRun({ pod, status }: PodActionsInput): boolean {
  return pod.spec.containers.some(({ name }) => {
    const state = findContainerStatus(status, name)?.state;
    return state === 'created' || state === 'running' || state === 'exited';
  });
}
