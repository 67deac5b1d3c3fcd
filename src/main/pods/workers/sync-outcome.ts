/** Computes from a task's result when the pod is synced again. Pure. Upstream: completeWork in pkg/kubelet/pod_workers.go. */
import type { ContainerBackoff, PodSyncResult } from '../../../shared/contracts/pod-sync/result.ts';
import type { PodSyncTask } from '../../../shared/contracts/pod-sync/task.ts';
import { isBackOffReason } from '../../../shared/kubernetes/waiting-reasons.ts';

export interface RequeuePolicy {
  /** syncFrequency: the interval of resyncs without an error. */
  readonly resyncIntervalMs: number;
  /** The delay after an error. 10 s upstream (backOffPeriod). */
  readonly backOffMs: number;
}

/** Upstream's workerResyncIntervalJitterFactor and workerBackOffPeriodJitterFactor. */
const jitterFactor = 0.5;
/** Upstream's backOffOnTransientErrorPeriod: the network will most likely be ready soon. */
const transientBackOffMs = 1000;

/**
 * Returns the delay in ms until the next sync. The time of the task's result (`retryAtMs`, the end of a container's back-off) is exact; all other
 * delays are jittered by up to a half, so that the syncs of pods that started together drift apart.
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
  const retryAtDelayMs = result.retryAtMs === undefined ? Infinity : Math.max(0, result.retryAtMs - nowMs);
  switch (result.outcome) {
    case 'synced':
      return Math.min(resyncMs, retryAtDelayMs);
    // A stopped task has a successor already, unless the end of its thread stopped it: the delay is for that case.
    case 'stopped':
      return Math.min(jittered(transientBackOffMs), retryAtDelayMs);
    case 'failed': {
      const { reason, retryAfterMs = Infinity } = result.failure;
      const retryMs = Math.min(retryAtDelayMs, retryAfterMs);
      if (reason === 'NetworkNotReady') return Math.min(jittered(transientBackOffMs), retryMs);
      if (kind === 'sync' && isBackOffReason(reason) && retryMs < Infinity) return Math.min(resyncMs, retryMs);
      return Math.min(jittered(policy.backOffMs), retryMs);
    }
    default:
      return result satisfies never;
  }
}

/** Whether the result is a failure whose cause may be gone before the end of its back-off. */
export function canRetryEarly(result: PodSyncResult): boolean {
  return result.outcome === 'failed' && !isBackOffReason(result.failure.reason);
}

/**
 * Bounds the memory of a pod whose images are changed all the time: a container has one back-off for each version of its image and resources. Several
 * are kept, because the container may return to an earlier version.
 */
const maxBackoffsPerContainer = 4;

/** Merges the back-offs that a task changed, which are the newest. */
export function mergeBackoffs(previous: readonly ContainerBackoff[], changed: readonly ContainerBackoff[]): readonly ContainerBackoff[] {
  if (changed.length === 0) return previous;
  const keys = new Set(changed.map(({ key }) => key));
  const merged = [...previous.filter(({ key }) => !keys.has(key)), ...changed];
  const perContainer = Map.groupBy(merged, ({ key }) => key.slice(0, key.lastIndexOf('/')));
  return [...perContainer.values()].flatMap((backoffs) => backoffs.slice(-maxBackoffsPerContainer));
}
