/** The actions of a pod whose sandbox is missing, dead or no longer right: all starts again, unless all is done already. */
import type { Container } from '../../../shared/kubernetes/api.ts';
import { findContainerStatus, type PodActions, type PodActionsInput } from './pod-actions.ts';

export function newSandboxActions(
  input: PodActionsInput,
  attempt: number,
): Partial<Pick<PodActions, 'createSandbox' | 'initContainersToStart' | 'containersToStart'>> {
  const { pod, status } = input;
  // A pod that never restarts and has run is over. One whose containers never came to be gets another sandbox.
  const hasRun = attempt !== 0 && status !== null && status.containers.length > 0;
  if (pod.spec.restartPolicy === 'Never' && hasRun) return { createSandbox: false };

  const toStart = pod.spec.containers.filter((container) => !isDone(container, input)).map(({ name }) => name);
  if (toStart.length === 0 && hasAnyRegularContainerRun(input)) return { createSandbox: false };

  // A new sandbox starts from the beginning: the first init container, then one after the other.
  const firstInit = pod.spec.initContainers?.[0];
  return firstInit ? { initContainersToStart: [firstInit.name] } : { containersToStart: toStart };
}

/** It has succeeded, and runs again only on failure. */
function isDone(container: Container, { pod, status, containerRestartRules }: PodActionsInput): boolean {
  const policy = (containerRestartRules ? container.restartPolicy : undefined) ?? pod.spec.restartPolicy;
  const current = findContainerStatus(status, container.name);
  return policy === 'OnFailure' && current?.state === 'exited' && current.exitCode === 0;
}

/** Upstream HasAnyRegularContainerCreated: the init containers are then behind it. */
function hasAnyRegularContainerRun({ pod, status }: PodActionsInput): boolean {
  return pod.spec.containers.some(({ name }) => {
    const state = findContainerStatus(status, name)?.state;
    return state === 'created' || state === 'running' || state === 'exited';
  });
}
