/** Computes the actions of a pod that needs a new sandbox: all containers start again, unless the pod has finished. */
import type { Container } from '../../../../shared/kubernetes/api.ts';
import { effectiveRestartPolicy, isRestartableInitContainer } from '../../../../shared/kubernetes/restart-policy.ts';
import { findContainerStatus, type PodActions, type PodActionsInput } from './pod-actions.ts';

export function computeNewSandboxActions(
  input: PodActionsInput,
  attempt: number,
): Partial<Pick<PodActions, 'createSandbox' | 'initContainersToStart' | 'containersToStart'>> {
  const { pod, status } = input;
  // With restartPolicy Never, a container that has run does not run again, and the others start. Upstream starts none of them, so that a pod whose
  // containers have not run yet waits for ever.
  const isSecondSandbox = attempt !== 0 && status !== null && status.containers.length > 0;
  const runsOnce = pod.spec.restartPolicy === 'Never' && isSecondSandbox;
  if (runsOnce && hasFailedInitContainer(input)) return { createSandbox: false };

  const mayStart = (container: Container) => (runsOnce ? !hasStarted(container, input) : !hasSucceeded(container, input));
  const toStart = pod.spec.containers.filter(mayStart).map(({ name }) => name);
  if (toStart.length === 0 && (runsOnce || hasAnyRegularContainerRun(input))) return { createSandbox: false };

  // In a new sandbox, initialization starts from the first init container.
  const firstInit = pod.spec.initContainers?.[0];
  return firstInit ? { initContainersToStart: [firstInit.name] } : { containersToStart: toStart };
}

/** Returns whether the container has succeeded and restarts only on failure. */
function hasSucceeded(container: Container, input: PodActionsInput): boolean {
  const current = findContainerStatus(input.status, container.name);
  return effectiveRestartPolicy(container, input.pod.spec, input) === 'OnFailure' && current?.state === 'exited' && current.exitCode === 0;
}

/** Creation and start are one step: a container that is only created has not run. A container in an unknown state may have run. */
function hasStarted({ name }: Container, { status }: PodActionsInput): boolean {
  const state = findContainerStatus(status, name)?.state;
  return state !== undefined && state !== 'created';
}

/** Returns whether an init container has failed that may not restart. Sidecars may restart. */
function hasFailedInitContainer({ pod, status }: PodActionsInput): boolean {
  return (pod.spec.initContainers ?? []).some((container) => {
    if (isRestartableInitContainer(container)) return false;
    const current = findContainerStatus(status, container.name);
    return current?.state === 'exited' && (current.exitCode !== 0 || current.reason === 'OOMKilled');
  });
}

/** A regular container that was created implies that the init containers have completed (upstream HasAnyRegularContainerCreated). */
function hasAnyRegularContainerRun({ pod, status }: PodActionsInput): boolean {
  return pod.spec.containers.some(({ name }) => {
    const state = findContainerStatus(status, name)?.state;
    return state === 'created' || state === 'running' || state === 'exited';
  });
}
