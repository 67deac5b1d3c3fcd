/**
 * RestartAllContainers: a container's exit code matched a rule by which the whole pod begins again in its sandbox. What the API shows of
 * it, and at the same time what tells a sync to do it: the condition AllContainersRestarting. Pure (upstream container/helpers.go
 * ShouldAllContainersRestart, AllContainersRestartCleanedUp; status/generate.go GenerateAllContainersRestartingCondition).
 */
import type { RuntimePodStatus } from '../../../shared/contracts/runtime-status.ts';
import type { Container, ContainerState, Pod, PodCondition, PodSpec, PodStatus } from '../../../shared/kubernetes/api.ts';
import { matchingRestartRule } from '../../../shared/kubernetes/restart-policy.ts';

const action = 'RestartAllContainers';
/** The reason of a container that was removed for it, and of its end. */
export const restartingAllContainers = 'RestartingAllContainers';

/** One of its containers has such a rule: only then the pod has the condition. */
export function hasRestartAllRule(spec: PodSpec): boolean {
  return resettable(spec).some(({ restartPolicyRules }) => restartPolicyRules?.some((rule) => rule.action === action) ?? false);
}

/** It was said to restart, or a container has just ended in the way that asks for it. */
export function isRestartingAll({ spec }: Pod, status: RuntimePodStatus | null, before: PodStatus | undefined): boolean {
  if (before?.conditions?.some((condition) => condition.type === 'AllContainersRestarting' && condition.status === 'True')) return true;
  const shown = new Map([...(before?.initContainerStatuses ?? []), ...(before?.containerStatuses ?? [])].map((one) => [one.name, one]));
  return resettable(spec).some((container) => {
    const newest = status?.containers.find(({ name }) => name === container.name);
    if (newest?.state !== 'exited') return false;
    const ends = [newest.exitCode, shown.get(container.name)?.state?.terminated?.exitCode];
    return ends.some((exitCode) => exitCode !== undefined && matchingRestartRule(container, exitCode)?.action === action);
  });
}

/** `restarting`: of isRestartingAll. True until the runtime has none of the pod's containers any more. */
export function allContainersRestartingCondition(
  { spec }: Pod,
  status: RuntimePodStatus | null,
  restarting: boolean,
  phase: string,
): Pick<PodCondition, 'status' | 'reason' | 'message'> {
  if (phase === 'Succeeded') return { status: 'False', reason: 'PodCompleted' };
  if (phase === 'Failed') return { status: 'False', reason: 'PodFailed' };
  const names = new Set(resettable(spec).map(({ name }) => name));
  const isLeft = status?.containers.some(({ name }) => names.has(name)) ?? false;
  if (!restarting || !isLeft) return { status: 'False' };
  return { status: 'True', reason: 'RestartAllContainersStarted', message: 'container exited with restart policy rule' };
}

const removed = 'The container is removed because RestartAllContainers in place';

/** Of a container that was removed for it: it waits, and has ended in no way of its own. */
export const removedState: ContainerState = { waiting: { reason: restartingAllContainers, message: removed } };
export const removedLastState: ContainerState = { terminated: { exitCode: 137, reason: restartingAllContainers, message: removed } };

function resettable({ initContainers = [], containers }: PodSpec): Container[] {
  return [...initContainers, ...containers];
}
