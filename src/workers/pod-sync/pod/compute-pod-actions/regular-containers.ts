/** Computes the actions of the regular containers, for a pod that is initialized and has the right sandbox. */
import type { RuntimeContainerStatus } from '../../../../shared/contracts/runtime-status.ts';
import type { Container } from '../../../../shared/kubernetes/api.ts';
import { containerHash } from '../../../../shared/kubernetes/container-hash.ts';
import { effectiveRestartPolicy, shouldRestartContainer } from '../../../../shared/kubernetes/restart-policy.ts';
import { resizeNeedsRestart, type KeptContainer } from './resizes.ts';
import { findContainerStatus, type ContainerToKill, type KillReason, type PodActionsInput } from './pod-actions.ts';

export interface RegularContainerActions {
  readonly toStart: readonly string[];
  readonly toKill: readonly ContainerToKill[];
  /** The containers that keep running. */
  readonly kept: readonly KeptContainer[];
}

export function computeRegularContainerActions(input: PodActionsInput): RegularContainerActions {
  const toStart: string[] = [];
  const toKill: ContainerToKill[] = [];
  const kept: KeptContainer[] = [];
  for (const container of input.pod.spec.containers) {
    const current = findContainerStatus(input.status, container.name);
    if (current?.state !== 'running') {
      if (!shouldStart(container, current, input)) continue;
      toStart.push(container.name);
      if (current?.state === 'unknown') toKill.push(killBeforeRestart(current, 'Container'));
      continue;
    }
    const kill = computeKill(container, current, input);
    if (!kill) {
      kept.push({ id: current.id, container });
      continue;
    }
    if (kill.restart) toStart.push(container.name);
    toKill.push({ id: current.id, name: container.name, message: kill.message, reason: kill.reason });
  }
  return { toStart, toKill, kept };
}

/** A container in an unknown state may still run, and two instances of one container must never exist. */
export function killBeforeRestart(current: RuntimeContainerStatus, description: string): ContainerToKill {
  const message = `${description} is in "unknown" state, try killing it before restart`;
  return { id: current.id, name: current.name, message, reason: 'Unknown' };
}

/** Returns whether a container that does not run has to start (upstream kubecontainer.ShouldContainerBeRestarted). */
export function shouldStart(container: Container, current: RuntimeContainerStatus | undefined, input: PodActionsInput): boolean {
  const { metadata, spec } = input.pod;
  if (metadata.deletionTimestamp !== undefined) return false;
  if (!current || current.state !== 'exited') return current?.state !== 'running';
  return shouldRestartContainer(container, spec, current.exitCode, input);
}

function computeKill(
  container: Container,
  current: RuntimeContainerStatus,
  input: PodActionsInput,
): { message: string; reason: KillReason; restart: boolean } | undefined {
  const { pod, probes } = input;
  const { name } = container;
  // A changed definition is started regardless of the restart policy.
  if (current.hash !== containerHash(container)) {
    return { message: `Container ${name} definition changed, will be restarted`, reason: '', restart: true };
  }
  // The container still runs, so there is no exit code for a restart rule: only the policies count.
  const restart = effectiveRestartPolicy(container, pod.spec, input) !== 'Never';
  const consequence = restart ? ', will be restarted' : '';
  if (probes?.liveness.get(current.id) === 'failure') {
    return { message: `Container ${name} failed liveness probe${consequence}`, reason: 'LivenessProbe', restart };
  }
  if (probes?.startup.get(current.id) === 'failure') {
    return { message: `Container ${name} failed startup probe${consequence}`, reason: 'StartupProbe', restart };
  }
  if (resizeNeedsRestart(container, input)) {
    return { message: `Container ${name} resize requires restart`, reason: '', restart: true };
  }
  return undefined;
}
