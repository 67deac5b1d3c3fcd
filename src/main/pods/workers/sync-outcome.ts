/** What a task's result means for what comes next, above all when the pod is looked at again: pure. Upstream: completeWork in pkg/kubelet/pod_workers.go. */
import type { ContainerBackoff, PodSyncResult } from '../../../shared/contracts/pod-sync/result.ts';
import type { PodSyncTask } from '../../../shared/contracts/pod-sync/task.ts';

export interface RequeuePolicy {
  /** syncFrequency: how often a pod that is well is looked at. */
  readonly resyncIntervalMs: number;
  /** After an error. 10 s upstream (backOffPeriod). */
  readonly backOffMs: number;
}

/** Upstream's workerResyncIntervalJitterFactor and workerBackOffPeriodJitterFactor. */
const jitterFactor = 0.5;
/** Upstream's backOffOnTransientErrorPeriod: the network will most likely be there in a moment. */
const transientBackOffMs = 1000;

/** Failures that are nothing but the wait for a time that the result names. */
const waitsForItsTime = new Set(['CrashLoopBackOff', 'ImagePullBackOff']);

/**
 * The delay in ms before the pod is looked at again. A time that the task named (`retryAtMs`, the end of a container's back-off)
 * is kept to the millisecond; all other delays are jittered by up to half of them, so that pods that started together drift apart.
 * @param random from 0 to 1
 */
export function requeueDelayMs(
  kind: PodSyncTask['kind'],
  result: PodSyncResult,
  policy: RequeuePolicy,
  nowMs: number,
  random: number,
): number {
  const jittered = (ms: number) => ms * (1 + jitterFactor * random);
  const resyncMs = jittered(policy.resyncIntervalMs);
  const namedMs = result.retryAtMs === undefined ? Infinity : Math.max(0, result.retryAtMs - nowMs);
  switch (result.outcome) {
    case 'synced':
      return Math.min(resyncMs, namedMs);
    // Whoever stopped it has left it something newer to do; the delay is for a task that was stopped by its thread's end.
    case 'stopped':
      return Math.min(jittered(transientBackOffMs), namedMs);
    case 'failed': {
      const { reason, retryAfterMs = Infinity } = result.failure;
      const namedByAnyMs = Math.min(namedMs, retryAfterMs);
      if (reason === 'NetworkNotReady') return Math.min(jittered(transientBackOffMs), namedByAnyMs);
      if (kind === 'sync' && waitsForItsTime.has(reason) && namedByAnyMs < Infinity) return Math.min(resyncMs, namedByAnyMs);
      return Math.min(jittered(policy.backOffMs), namedByAnyMs);
    }
    default:
      return result satisfies never;
  }
}

/** Whether the result is a failure that may be over sooner than its back-off is: not one that waits for a time of its own. */
export function canRetryEarly(result: PodSyncResult): boolean {
  return result.outcome === 'failed' && !waitsForItsTime.has(result.failure.reason);
}

/** A task answers with the back-offs that it changed. */
export function mergeBackoffs(before: readonly ContainerBackoff[], changed: readonly ContainerBackoff[]): readonly ContainerBackoff[] {
  if (changed.length === 0) return before;
  const keys = new Set(changed.map(({ key }) => key));
  return [...before.filter(({ key }) => !keys.has(key)), ...changed];
}
