/**
 * When a status is sent: pure. Each change goes out at once, but for four kinds that the next one often overtakes, which wait a
 * little for it, so that a pod's start and its end cost one request each and not one for every step:
 *
 *  - the steps of a pod's start: the kubelet has taken it, its sandbox is there, this container runs and that one is still being created, an init container is done.
 *    As soon as one of them fails, a condition has a reason of its own, the phase changes, or somebody deletes the pod, nothing waits;
 *  - the end of the last container of a pod whose phase may not be told yet, since its task has not ended all of them yet;
 *  - that a new generation of the pod was seen, and nothing else: what follows from it is not far, the end of a deleted pod above all;
 *  - that the runtime does not answer about it, and nothing else: a busy runtime, or a busy host, mostly does a moment later.
 */
import { isFailureReason } from '../../shared/contracts/runtime-status.ts';
import type { ContainerStatus, Pod, PodStatus } from '../../shared/kubernetes/api.ts';
import { isTerminalPhase } from '../pods/api-status/phase.ts';
import { isDeleted } from '../pods/termination/is-deleted.ts';
import { statusPatch } from './status-patch.ts';

/** How long such a change waits at most; what a user misses meanwhile is an address, and a condition that says that a start is under way. */
export const startupStepDelayMs = 1000;
/**
 * No change waits longer. A start without init containers has little to show before it runs, and on two cores takes up to 2 s in a burst of
 * 100. That the runtime does not answer is mostly over by then, too.
 */
export const maxCoalesceDelayMs = 2000;

/**
 * How long the change may wait; 0: not at all. `base` is what the API server has, `next` what it is to have, `own` what the kubelet knows.
 * `firstStatusInMs`: how long a pod without any status may still wait for its first.
 */
export function coalesceDelayMs(base: Pod, next: PodStatus, own: PodStatus, firstStatusInMs = 0): number {
  if (isUnansweredOnly(base, next)) return maxCoalesceDelayMs;
  if (isTerminalPhase(own.phase) && !isTerminalPhase(next.phase)) return startupStepDelayMs;
  if (isNewGenerationOnly(base, next)) return startupStepDelayMs;
  if (!isStepOfStart(base, next)) return 0;
  const stepMs = next.initContainerStatuses?.length ? startupStepDelayMs : maxCoalesceDelayMs;
  return base.status?.startTime === undefined ? Math.min(stepMs, firstStatusInMs) : stepMs;
}

function isStepOfStart(base: Pod, next: PodStatus): boolean {
  const before = base.status ?? {};
  if ((before.phase ?? 'Pending') !== 'Pending' || next.phase !== 'Pending') return false;
  if (next.reason || next.message || isDeleted(base) || hasNewReason(before, next)) return false;
  const lists = ['initContainerStatuses', 'containerStatuses'] as const;
  return lists.every((list) => (next[list] ?? []).every((status) => isStartingWell(status, before[list])));
}

/** Reasons of conditions that every start goes through. */
const startingConditionReasons: ReadonlySet<string> = new Set(['ContainersNotInitialized', 'ContainersNotReady']);

function hasNewReason(before: PodStatus, { conditions = [] }: PodStatus): boolean {
  return conditions.some(({ type, reason }) => {
    if (!reason || startingConditionReasons.has(reason)) return false;
    return before.conditions?.find((condition) => condition.type === type)?.reason !== reason;
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

/** Reasons of a container whose turn has not come; none: it was created. */
const startingReasons: ReadonlySet<string | undefined> = new Set([undefined, 'ContainerCreating', 'PodInitializing']);

function isStartingWell({ name, state, restartCount }: ContainerStatus, before: readonly ContainerStatus[] | undefined): boolean {
  const known = before?.find((status) => status.name === name);
  if (restartCount !== (known?.restartCount ?? 0)) return false;
  // What waited for another reason has something to tell: it waits no longer.
  if (known?.state?.waiting && !startingReasons.has(known.state.waiting.reason)) return false;
  if (state?.terminated) return state.terminated.exitCode === 0;
  return state?.running !== undefined || startingReasons.has(state?.waiting?.reason);
}

/** Somebody waits for it: the end of a pod that is deleted, the end of a pod, the first time that it is ready. */
export function isUrgent(base: Pod, next: PodStatus): boolean {
  if (isDeleted(base) || (isTerminalPhase(next.phase) && next.phase !== base.status?.phase)) return true;
  return isReady(next) && !isReady(base.status);
}

function isReady(status: PodStatus | undefined): boolean {
  return status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') ?? false;
}

/**
 * Nothing of the pod is left on this node, it was deleted, and the API server has its final phase: its object may go. A mirror pod is none
 * of these: it goes with its static pod.
 */
export function canBeDeleted(base: Pod, isFinished: boolean): boolean {
  return isFinished && isDeleted(base) && isTerminalPhase(base.status?.phase);
}
