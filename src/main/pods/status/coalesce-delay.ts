/**
 * Decides how long a status change waits for the next one. Pure. Most changes are sent at once. Four kinds are usually superseded within
 * seconds and wait, so that a pod's start and its end cost one request each instead of one per step:
 *
 *  - A step of a pod's start: the pod was accepted, its sandbox is ready, some of its containers run, an init container completed. The delay
 *    ends when a container fails, a condition gets a new reason, the phase changes or the pod is deleted.
 *  - The termination of the last container while the sync task has not stopped the pod yet: the terminal phase cannot be reported before.
 *  - A new observed generation and nothing else: the change that follows from it, such as the end of a deleted pod, comes soon.
 *  - The runtime does not respond for the pod, and nothing else: a busy runtime or host usually responds a moment later.
 */
import { isFailureReason } from '../../../shared/contracts/runtime-status.ts';
import type { ContainerStatus, Pod, PodStatus } from '../../../shared/kubernetes/api.ts';
import { isDeleted } from '../../../shared/kubernetes/is-deleted.ts';
import { isTerminalPhase } from '../../../shared/kubernetes/pod-phase.ts';
import { isPodReady } from '../../../shared/kubernetes/ready-condition.ts';
import { isDefaultWaitingReason } from '../../../shared/kubernetes/waiting-reasons.ts';
import { statusPatch } from './status-patch.ts';

/** The longest delay of a step. Meanwhile users miss at most an address and the condition that shows the start in progress. */
export const startupStepDelayMs = 1000;
/**
 * The longest delay of any change. A start without init containers has little to show before the pod runs, and takes up to 2 s in a burst of
 * 100 pods on two cores. A runtime that does not respond has usually recovered by then.
 */
export const maxCoalesceDelayMs = 2000;

/**
 * Returns the delay of the change from the API server's object `base` to `next`; 0 to send at once. `kubeletStatus` is the status before
 * `toApiStatus` withheld its terminal phase. `firstStatusInMs` is the time left for a pod that has no status in the API server yet.
 */
export function coalesceDelayMs(base: Pod, next: PodStatus, kubeletStatus: PodStatus, firstStatusInMs = 0): number {
  if (isUnansweredOnly(base, next)) return maxCoalesceDelayMs;
  if (isTerminalPhase(kubeletStatus.phase) && !isTerminalPhase(next.phase)) return startupStepDelayMs;
  if (isNewGenerationOnly(base, next)) return startupStepDelayMs;
  if (!isStepOfStart(base, next)) return 0;
  const stepMs = next.initContainerStatuses?.length ? startupStepDelayMs : maxCoalesceDelayMs;
  return base.status?.startTime === undefined ? Math.min(stepMs, firstStatusInMs) : stepMs;
}

function isStepOfStart(base: Pod, next: PodStatus): boolean {
  const previousStatus = base.status ?? {};
  if ((previousStatus.phase ?? 'Pending') !== 'Pending' || next.phase !== 'Pending') return false;
  if (next.reason || next.message || isDeleted(base) || hasNewReason(previousStatus, next)) return false;
  const lists = ['initContainerStatuses', 'containerStatuses'] as const;
  return lists.every((list) => (next[list] ?? []).every((status) => isStartingWell(status, previousStatus[list])));
}

/** Condition reasons that every start goes through. */
const startingConditionReasons: ReadonlySet<string> = new Set(['ContainersNotInitialized', 'ContainersNotReady']);

function hasNewReason(previousStatus: PodStatus, { conditions = [] }: PodStatus): boolean {
  return conditions.some(({ type, reason }) => {
    if (!reason || startingConditionReasons.has(reason)) return false;
    return previousStatus.conditions?.find((condition) => condition.type === type)?.reason !== reason;
  });
}

function isUnansweredOnly(base: Pod, next: PodStatus): boolean {
  const { reason, message } = next;
  if (!isFailureReason(reason)) return false;
  return statusPatch({ ...base, status: { ...base.status, reason, message } }, next) === null;
}

function isNewGenerationOnly(base: Pod, next: PodStatus): boolean {
  const conditions = base.status?.conditions?.map((condition) => {
    const observedGeneration = next.conditions?.find(({ type }) => type === condition.type)?.observedGeneration;
    return observedGeneration === undefined ? condition : { ...condition, observedGeneration };
  });
  const { observedGeneration } = next;
  const asIfSeen = { ...base.status, ...(observedGeneration ? { observedGeneration } : {}), ...(conditions ? { conditions } : {}) };
  return statusPatch({ ...base, status: asIfSeen }, next) === null;
}

/** Whether a container that waits was not started yet. A created container has no reason. */
function isStartingReason(reason: string | undefined): boolean {
  return reason === undefined || isDefaultWaitingReason(reason);
}

function isStartingWell({ name, state, restartCount }: ContainerStatus, previousStatuses: readonly ContainerStatus[] | undefined): boolean {
  const previousStatus = previousStatuses?.find((status) => status.name === name);
  if (restartCount !== (previousStatus?.restartCount ?? 0)) return false;
  // The container leaves an error such as ImagePullBackOff: users see the recovery at once.
  if (previousStatus?.state?.waiting && !isStartingReason(previousStatus.state.waiting.reason)) return false;
  if (state?.terminated) return state.terminated.exitCode === 0;
  return state?.running !== undefined || isStartingReason(state?.waiting?.reason);
}

/** True for changes that users and controllers wait for: a deleted pod's status, a terminal phase, the pod is Ready or no longer. */
export function isUrgent(base: Pod, next: PodStatus): boolean {
  if (isDeleted(base) || (isTerminalPhase(next.phase) && next.phase !== base.status?.phase)) return true;
  return isPodReady(next) !== isPodReady(base.status);
}
