/**
 * Computes the actions that bring a pod's sandbox and containers (init, sidecar, regular, ephemeral) from the runtime's status to the spec.
 * Pure. Follows upstream's kuberuntime_manager.go computePodActions.
 */
import { podSandboxChanged, type SandboxChange } from '../../../../shared/runtime/pod-sandbox.ts';
import { computeInitContainerActions } from './init-containers.ts';
import { computeRegularContainerActions } from './regular-containers.ts';
import { computeContainersToReset } from './containers-to-reset.ts';
import { computeResizeActions, type KeptContainer } from './resizes.ts';
import { computeNewSandboxActions } from './new-sandbox.ts';
import { findContainerStatus, type PodActions, type PodActionsInput } from './pod-actions.ts';

export function computePodActions(input: PodActionsInput): PodActions {
  const { pod, status } = input;
  const sandbox = podSandboxChanged(pod, status);
  const noActions = emptyActions(sandbox);
  if (input.restartAllContainers) return { ...noActions, containersToReset: computeContainersToReset(input) };
  if (sandbox.changed) return { ...noActions, ...computeNewSandboxActions(input, sandbox.attempt) };

  // An ephemeral container never restarts and does not wait for init containers.
  const ephemeralContainersToStart = (pod.spec.ephemeralContainers ?? [])
    .map(({ name }) => name)
    .filter((name) => !findContainerStatus(status, name));
  const init = computeInitContainerActions(input);
  const actions = {
    ...noActions,
    ephemeralContainersToStart,
    killPod: init.killPod,
    initContainersToStart: init.toStart,
    containersToKill: init.toKill,
  };
  const toContainers = (names: readonly string[]) =>
    [...(pod.spec.initContainers ?? []), ...pod.spec.containers].filter(({ name }) => names.includes(name));
  // Regular containers wait until the init containers have completed.
  if (init.killPod || !init.initialized) {
    const candidates = { kept: init.kept, starting: toContainers(init.toStart) };
    return init.killPod
      ? actions
      : { ...actions, hooksToRepeat: computeHooksToRepeat(init.kept, input), resize: computeResizeActions(candidates, input) };
  }

  const regular = computeRegularContainerActions(input);
  const kept = [...init.kept, ...regular.kept];
  // No regular container runs or will run: sidecars must not keep the pod running.
  const isFinished = regular.kept.length === 0 && regular.toStart.length === 0;
  return {
    ...actions,
    killPod: isFinished,
    initContainersToStart: isFinished ? [] : init.toStart,
    containersToStart: regular.toStart,
    containersToKill: [...init.toKill, ...regular.toKill],
    hooksToRepeat: isFinished ? [] : computeHooksToRepeat(kept, input),
    resize: isFinished ? null : computeResizeActions({ kept, starting: toContainers([...init.toStart, ...regular.toStart]) }, input),
  };
}

function computeHooksToRepeat(kept: readonly KeptContainer[], { unfinishedHooks = [] }: PodActionsInput): KeptContainer[] {
  return kept.filter(({ id, container }) => container.lifecycle?.postStart && unfinishedHooks.includes(id));
}

function emptyActions({ changed, attempt, sandboxID }: SandboxChange): PodActions {
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
    hooksToRepeat: [],
    resize: null,
  };
}
