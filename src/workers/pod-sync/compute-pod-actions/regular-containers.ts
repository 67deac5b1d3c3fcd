/** The actions of the regular containers of a pod that is initialized and whose sandbox is right. */
import type { RuntimeContainerStatus } from '../../../shared/contracts/runtime-status.ts';
import type { Container } from '../../../shared/kubernetes/api.ts';
import { containerHash } from '../../../shared/kubernetes/container-hash.ts';
import { shouldRestartContainer } from '../../../shared/kubernetes/restart-policy.ts';
import { findContainerStatus, type ContainerToKill, type KillReason, type PodActionsInput } from './pod-actions.ts';

export interface RegularContainerActions {
  readonly toStart: readonly string[];
  readonly toKill: readonly ContainerToKill[];
  /** How many run and are left alone. */
  readonly kept: number;
}

export function regularContainerActions(input: PodActionsInput): RegularContainerActions {
  const toStart: string[] = [];
  const toKill: ContainerToKill[] = [];
  let kept = 0;
  for (const container of input.pod.spec.containers) {
    const current = findContainerStatus(input.status, container.name);
    if (current?.state !== 'running') {
      if (!shouldBeStarted(container, current, input)) continue;
      toStart.push(container.name);
      if (current?.state === 'unknown') toKill.push(killBeforeRestart(current, 'Container'));
      continue;
    }
    const fault = whyToKill(container, current, input);
    if (!fault) {
      kept += 1;
      continue;
    }
    if (fault.restart) toStart.push(container.name);
    const message = fault.restart ? `${fault.message}, will be restarted` : fault.message;
    toKill.push({ id: current.id, name: container.name, message, reason: fault.reason });
  }
  return { toStart, toKill, kept };
}

/** It may still run, and two instances of one container must never exist. */
export function killBeforeRestart(current: RuntimeContainerStatus, what: string): ContainerToKill {
  const message = `${what} is in "unknown" state, try killing it before restart`;
  return { id: current.id, name: current.name, message, reason: 'Unknown' };
}

/** Of a container that does not run (upstream kubecontainer.ShouldContainerBeRestarted). */
export function shouldBeStarted(
  container: Container,
  current: RuntimeContainerStatus | undefined,
  { pod, containerRestartRules }: PodActionsInput,
): boolean {
  if (pod.metadata.deletionTimestamp !== undefined) return false;
  if (!current || current.state !== 'exited') return current?.state !== 'running';
  // Without the gate a container has no policy of its own.
  const { restartPolicy: _policy, restartPolicyRules: _rules, ...withoutOwnPolicy } = container;
  return shouldRestartContainer(containerRestartRules ? container : withoutOwnPolicy, pod.spec, current.exitCode);
}

function whyToKill(
  container: Container,
  current: RuntimeContainerStatus,
  { pod, probes, containerRestartRules }: PodActionsInput,
): { message: string; reason: KillReason; restart: boolean } | undefined {
  const { name } = container;
  // A new definition is started whatever the restart policy says.
  if (current.hash !== containerHash(container)) return { message: `Container ${name} definition changed`, reason: '', restart: true };
  // It still runs, so that there is no exit code that a rule could match: policies only.
  const policy = (containerRestartRules ? container.restartPolicy : undefined) ?? pod.spec.restartPolicy;
  const restart = policy !== 'Never';
  if (probes?.liveness.get(current.id) === 'failure') {
    return { message: `Container ${name} failed liveness probe`, reason: 'LivenessProbe', restart };
  }
  if (probes?.startup.get(current.id) === 'failure') {
    return { message: `Container ${name} failed startup probe`, reason: 'StartupProbe', restart };
  }
  return undefined;
}
