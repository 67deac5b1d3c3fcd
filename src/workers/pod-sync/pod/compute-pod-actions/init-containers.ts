/**
 * Computes the actions of the init containers (upstream kuberuntime_container.go computeInitContainerActions). Examines them from the last to
 * the first: completed ones may have been removed, so the last one with a status shows how far the initialization has come. All before it
 * have completed; only sidecars (restartPolicy Always) among them are kept running. Containers of an older sandbox do not count.
 */
import type { RuntimeContainerStatus } from '../../../../shared/contracts/runtime-status.ts';
import type { Container } from '../../../../shared/kubernetes/api.ts';
import { containerHash } from '../../../../shared/kubernetes/container-hash.ts';
import { effectiveRestartPolicy, isRestartableInitContainer } from '../../../../shared/kubernetes/restart-policy.ts';
import { killBeforeRestart, shouldStart } from './regular-containers.ts';
import { resizeNeedsRestart, type KeptContainer } from './resizes.ts';
import { findActiveContainerStatus, type ContainerToKill, type KillReason, type PodActionsInput } from './pod-actions.ts';

export interface InitContainerActions {
  readonly initialized: boolean;
  /** An init container has failed and may not restart: the pod terminates. */
  readonly killPod: boolean;
  readonly toStart: readonly string[];
  readonly toKill: readonly ContainerToKill[];
  /** The init containers that keep running. */
  readonly kept: readonly KeptContainer[];
}

/** The actions of one init container, regardless of the others. */
interface InitStep {
  readonly restart?: boolean;
  readonly kill?: ContainerToKill;
  /** The container has completed, or started up as a sidecar: the next one may start. */
  readonly done?: boolean;
  /** The container has failed and may not restart: the pod terminates. */
  readonly fatal?: boolean;
}

export function computeInitContainerActions(input: PodActionsInput): InitContainerActions {
  const containers = input.pod.spec.initContainers ?? [];
  if (containers.length === 0) return { initialized: true, killPod: false, toStart: [], toKill: [], kept: [] };

  let initialized = hasRegularContainer(input);
  /** True when a later container proves that all init containers before it have been initialized. */
  let predecessorsDone = initialized;
  const toStart: string[] = [];
  const toKill: ContainerToKill[] = [];
  const kept: KeptContainer[] = [];
  for (const [index, container] of [...containers.entries()].reverse()) {
    const sidecar = isRestartableInitContainer(container);
    const current = findActiveContainerStatus(input.status, container.name);
    if (!current) {
      if (predecessorsDone && sidecar) toStart.push(container.name);
      continue;
    }
    if (predecessorsDone && !sidecar) continue;
    const step = sidecar ? computeSidecarStep(container, current, input) : computeInitContainerStep(container, current, input);
    if (step.fatal) return { initialized: false, killPod: true, toStart: [], toKill, kept: [] };
    if (step.done) {
      const next = containers[index + 1];
      if (!next) initialized = true;
      // Once the predecessors are done, only sidecars are examined, and the next container was started before.
      else if (!predecessorsDone) toStart.push(next.name);
    }
    if (step.kill) toKill.push(step.kill);
    else if (current.state === 'running') kept.unshift({ id: current.id, container });
    if (step.restart) toStart.push(container.name);
    predecessorsDone = true;
  }
  if (!predecessorsDone) toStart.push(containers[0]!.name);
  return { initialized, killPod: false, toStart: toStart.reverse(), toKill, kept };
}

/** A regular container proves that the init containers ran, even when those have been removed. Upstream: HasAnyActiveRegularContainerStarted. */
function hasRegularContainer({ pod, status }: PodActionsInput): boolean {
  return pod.spec.containers.some(({ name }) => findActiveContainerStatus(status, name) !== undefined);
}

function computeInitContainerStep(container: Container, current: RuntimeContainerStatus, input: PodActionsInput): InitStep {
  switch (current.state) {
    case 'created': // Creation and start are one step, so the start has failed.
      return { restart: true };
    case 'running':
      return {};
    case 'exited':
      if (current.exitCode === 0 && current.reason !== 'OOMKilled') return { done: true };
      return mayRestart(container, current, input) ? { restart: true } : { fatal: true };
    case 'unknown':
      return mayRestart(container, current, input)
        ? { restart: true, kill: killBeforeRestart(current, 'Init container') }
        : { fatal: true };
    default:
      return current.state satisfies never;
  }
}

/** In an unknown state there is no exit code for a restart rule, so only the policies count. */
function mayRestart(container: Container, current: RuntimeContainerStatus, input: PodActionsInput): boolean {
  const isExitCodeKnown = input.containerRestartRules && current.state === 'exited';
  if (isExitCodeKnown) return shouldStart(container, current, input);
  return effectiveRestartPolicy(container, input.pod.spec, input) !== 'Never';
}

function computeSidecarStep(container: Container, current: RuntimeContainerStatus, input: PodActionsInput): InitStep {
  switch (current.state) {
    case 'created':
    case 'exited':
      return { restart: true };
    case 'unknown':
      return { restart: true, kill: killBeforeRestart(current, 'Init container') };
    case 'running':
      return computeRunningSidecarStep(container, current, input);
    default:
      return current.state satisfies never;
  }
}

function computeRunningSidecarStep(container: Container, current: RuntimeContainerStatus, input: PodActionsInput): InitStep {
  const { probes } = input;
  const { id, name } = current;
  const replace = (cause: string, reason: KillReason) => ({
    restart: true,
    kill: { id, name, message: `Init container ${name} ${cause}`, reason },
  });
  if (probes && container.startupProbe) {
    const startup = probes.startup.get(id);
    if (startup === 'failure') return replace('failed startup probe', 'StartupProbe');
    if (startup !== 'success') return {};
  }
  if (current.hash !== containerHash(container)) return { done: true, ...replace('definition changed', '') };
  // The next init container does not wait for the liveness probe.
  if (container.livenessProbe && probes?.liveness.get(id) === 'failure') {
    return { done: true, ...replace('failed liveness probe', 'LivenessProbe') };
  }
  if (resizeNeedsRestart(container, input)) {
    return { done: true, restart: true, kill: { id, name, message: `Container ${name} resize requires restart`, reason: '' } };
  }
  return { done: true };
}
