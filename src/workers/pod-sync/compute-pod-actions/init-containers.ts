/**
 * The actions of the init containers (upstream kuberuntime_container.go computeInitContainerActions). Looked at from the last to the first: those
 * that completed may have been removed, so the last one that left a trace tells how far the pod has come. All before it have
 * been initialized; of them only the sidecars (restartPolicy Always) are kept running.
 */
import type { RuntimeContainerStatus } from '../../../shared/contracts/runtime-status.ts';
import type { Container } from '../../../shared/kubernetes/api.ts';
import { containerHash } from '../../../shared/kubernetes/container-hash.ts';
import { isRestartableInitContainer } from '../../../shared/kubernetes/restart-policy.ts';
import { killBeforeRestart, shouldBeStarted } from './regular-containers.ts';
import { findContainerStatus, type ContainerToKill, type KillReason, type PodActionsInput } from './pod-actions.ts';

export interface InitContainerActions {
  readonly initialized: boolean;
  /** An init container failed for good: the pod is over. */
  readonly killPod: boolean;
  readonly toStart: readonly string[];
  readonly toKill: readonly ContainerToKill[];
}

/** What one init container, seen on its own, asks for. */
interface Step {
  readonly restart?: boolean;
  readonly kill?: ContainerToKill;
  /** It is behind us: the next may start. */
  readonly done?: boolean;
  readonly fatal?: boolean;
}

export function initContainerActions(input: PodActionsInput): InitContainerActions {
  const containers = input.pod.spec.initContainers ?? [];
  if (containers.length === 0) return { initialized: true, killPod: false, toStart: [], toKill: [] };

  let initialized = hasRegularContainer(input);
  /** Every init container before the one that is looked at next has been initialized. */
  let behind = initialized;
  const toStart: string[] = [];
  const toKill: ContainerToKill[] = [];
  for (const [index, container] of [...containers.entries()].reverse()) {
    const sidecar = isRestartableInitContainer(container);
    const current = findContainerStatus(input.status, container.name);
    if (!current) {
      if (behind && sidecar) toStart.push(container.name);
      continue;
    }
    if (behind && !sidecar) continue;
    const step = sidecar ? stepOfSidecar(container, current, input) : stepOfInitContainer(container, current, input);
    if (step.fatal) return { initialized: false, killPod: true, toStart: [], toKill };
    if (step.done) {
      const next = containers[index + 1];
      if (!next) initialized = true;
      // Only a sidecar is looked at once all is behind it; the next one was started before then.
      else if (!behind) toStart.push(next.name);
    }
    if (step.kill) toKill.push(step.kill);
    if (step.restart) toStart.push(container.name);
    behind = true;
  }
  if (!behind) toStart.push(containers[0]!.name);
  return { initialized, killPod: false, toStart: toStart.reverse(), toKill };
}

/**
 * A regular container that exists proves that the init containers ran, whose own traces may be gone. One that exited proves
 * nothing: it may be of the sandbox before.
 */
function hasRegularContainer({ pod, status }: PodActionsInput): boolean {
  return pod.spec.containers.some(({ name }) => {
    const state = findContainerStatus(status, name)?.state;
    return state === 'created' || state === 'running';
  });
}

function stepOfInitContainer(container: Container, current: RuntimeContainerStatus, input: PodActionsInput): Step {
  switch (current.state) {
    case 'created': // Created and started are one step: the start failed.
      return { restart: true };
    case 'running':
      return {};
    case 'exited':
      if (current.exitCode === 0 && current.reason !== 'OOMKilled') return { done: true };
      return mayRunAgain(container, current, input) ? { restart: true } : { fatal: true };
    case 'unknown':
      return mayRunAgain(container, current, input)
        ? { restart: true, kill: killBeforeRestart(current, 'Init container') }
        : { fatal: true };
    default:
      return current.state satisfies never;
  }
}

/** An unknown state has no exit code that a rule could match: policies only. */
function mayRunAgain(container: Container, current: RuntimeContainerStatus, input: PodActionsInput): boolean {
  const { pod, containerRestartRules } = input;
  if (!containerRestartRules) return pod.spec.restartPolicy !== 'Never';
  if (current.state === 'exited') return shouldBeStarted(container, current, input);
  return (container.restartPolicy ?? pod.spec.restartPolicy) !== 'Never';
}

function stepOfSidecar(container: Container, current: RuntimeContainerStatus, input: PodActionsInput): Step {
  switch (current.state) {
    case 'created':
    case 'exited':
      return { restart: true };
    case 'unknown':
      return { restart: true, kill: killBeforeRestart(current, 'Init container') };
    case 'running':
      return stepOfRunningSidecar(container, current, input);
    default:
      return current.state satisfies never;
  }
}

function stepOfRunningSidecar(container: Container, current: RuntimeContainerStatus, { probes }: PodActionsInput): Step {
  const { id, name } = current;
  const replace = (what: string, reason: KillReason) => ({
    restart: true,
    kill: { id, name, message: `Init container ${name} ${what}`, reason },
  });
  if (probes && container.startupProbe) {
    const startup = probes.startup.get(id);
    if (startup === 'failure') return replace('failed startup probe', 'StartupProbe');
    if (startup !== 'success') return {};
  }
  if (current.hash !== containerHash(container)) return { done: true, ...replace('definition changed', '') };
  // Liveness does not hold up the next init container.
  if (container.livenessProbe && probes?.liveness.get(id) === 'failure') {
    return { done: true, ...replace('failed liveness probe', 'LivenessProbe') };
  }
  return { done: true };
}
