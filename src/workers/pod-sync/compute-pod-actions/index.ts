/**
 * What a pod needs done, from its spec and from what the runtime has of it: sandbox, init containers, sidecars, regular and
 * ephemeral containers. Pure. Called by syncPod. After upstream's kuberuntime_manager.go computePodActions.
 */
import { podSandboxChanged, type SandboxChange } from '../../../shared/kubernetes/pod-sandbox.ts';
import { initContainerActions } from './init-containers.ts';
import { regularContainerActions } from './regular-containers.ts';
import { containersToReset } from './restart-all.ts';
import { newSandboxActions } from './new-sandbox.ts';
import { findContainerStatus, type PodActions, type PodActionsInput } from './pod-actions.ts';

export { findContainerStatus } from './pod-actions.ts';
export type {
  ContainerToKill,
  ContainerToReset,
  KillReason,
  PodActions,
  PodActionsInput,
  ProbeVerdict,
  ProbeVerdicts,
} from './pod-actions.ts';

export function computePodActions(input: PodActionsInput): PodActions {
  const { pod, status } = input;
  const sandbox = podSandboxChanged(pod, status);
  const nothing = nothingToDo(sandbox);
  if (input.restartAllContainers) return { ...nothing, containersToReset: containersToReset(input) };
  if (sandbox.changed) return { ...nothing, ...newSandboxActions(input, sandbox.attempt) };

  // An ephemeral container is never restarted, and does not wait for the init containers.
  const ephemeralContainersToStart = (pod.spec.ephemeralContainers ?? [])
    .map(({ name }) => name)
    .filter((name) => !findContainerStatus(status, name));
  const init = initContainerActions(input);
  const actions = {
    ...nothing,
    ephemeralContainersToStart,
    killPod: init.killPod,
    initContainersToStart: init.toStart,
    containersToKill: init.toKill,
  };
  if (init.killPod || !init.initialized) return actions;

  const regular = regularContainerActions(input);
  // Nothing runs and nothing will: sidecars must not keep the pod alive.
  const over = regular.kept === 0 && regular.toStart.length === 0;
  return {
    ...actions,
    killPod: over,
    initContainersToStart: over ? [] : init.toStart,
    containersToStart: regular.toStart,
    containersToKill: [...init.toKill, ...regular.toKill],
  };
}

function nothingToDo({ changed, attempt, sandboxID }: SandboxChange): PodActions {
  return {
    killPod: changed,
    createSandbox: changed,
    sandboxID,
    attempt,
    ephemeralContainersToStart: [],
    initContainersToStart: [],
    containersToStart: [],
    containersToKill: [],
    containersToReset: [],
  };
}
