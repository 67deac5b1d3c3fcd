/**
 * RestartAllContainers: when a container's exit code matches such a rule, the whole pod restarts in its sandbox. The condition
 * AllContainersRestarting shows the restart, and makes the next sync carry it out. Pure (upstream container/helpers.go
 * ShouldAllContainersRestart, AllContainersRestartCleanedUp; status/generate.go GenerateAllContainersRestartingCondition).
 */
import type { RuntimePodStatus } from '../../../shared/contracts/runtime-status.ts';
import type { Container, ContainerState, Pod, PodCondition, PodSpec, PodStatus } from '../../../shared/kubernetes/api.ts';
import { matchingRestartRule } from '../../../shared/kubernetes/restart-policy.ts';

const action = 'RestartAllContainers';
/** The waiting and the termination reason of containers that were removed for the restart. */
export const restartingAllContainers = 'RestartingAllContainers';

/** True when a container has a RestartAllContainers rule. Only such pods have the condition. */
export function hasRestartAllRule(spec: PodSpec): boolean {
  return resettable(spec).some(({ restartPolicyRules }) => restartPolicyRules?.some((rule) => rule.action === action) ?? false);
}

/** True when the condition is already True, or when a container has terminated with an exit code that matches a rule. */
export function isRestartingAll({ spec }: Pod, status: RuntimePodStatus | null, previousStatus: PodStatus | undefined): boolean {
  if (previousStatus?.conditions?.some((condition) => condition.type === 'AllContainersRestarting' && condition.status === 'True'))
    return true;
  const previous = new Map(
    [...(previousStatus?.initContainerStatuses ?? []), ...(previousStatus?.containerStatuses ?? [])].map((status) => [status.name, status]),
  );
  return resettable(spec).some((container) => {
    const newest = status?.containers.find(({ name }) => name === container.name);
    if (newest?.state !== 'exited') return false;
    const exitCodes = [newest.exitCode, previous.get(container.name)?.state?.terminated?.exitCode];
    return exitCodes.some((exitCode) => exitCode !== undefined && matchingRestartRule(container, exitCode)?.action === action);
  });
}

/** `restarting` is the result of isRestartingAll. The condition is True until the runtime has none of the pod's containers. */
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

/** The states of a container that was removed for the restart. */
export const removedState: ContainerState = { waiting: { reason: restartingAllContainers, message: removed } };
export const removedLastState: ContainerState = { terminated: { exitCode: 137, reason: restartingAllContainers, message: removed } };

function resettable({ initContainers = [], containers }: PodSpec): Container[] {
  return [...initContainers, ...containers];
}
