/** Evicts single pods, and keeps track of those that have not finished. It does not wait for them. */
import { messageOf } from '../../shared/errors/kubelet-error.ts';
import type { Pod } from '../../shared/kubernetes/api.ts';
import type { AllocatedPod } from '../allocation/index.ts';
import { podUID, type PodUID } from '../../shared/kubernetes/ids.ts';
import type { Logger } from '../../shared/log/logger.ts';
import { evictions } from '../../shared/metrics/definitions/eviction.ts';
import type { Clock } from '../../shared/time/clock.ts';
import { podReference, type EventSink } from '../events/index.ts';
import type { KillPodOptions } from '../pods/workers/index.ts';
import { EvictionsInProgress } from './evictions-in-progress.ts';
import { notEvictableBecause, type Eviction, type EvictionCause } from './evictions.ts';

export interface PodEvictorOptions {
  readonly kill: (uid: PodUID, options: KillPodOptions) => Promise<void>;
  /** Whether nothing is left of the pod on this node. */
  readonly isFinished: (uid: PodUID) => boolean;
  /** The last evicted pod has finished. */
  readonly onAllFinished: () => void;
  readonly events: EventSink;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class PodEvictor {
  readonly #options: PodEvictorOptions;
  readonly #inProgress = new EvictionsInProgress();

  constructor(options: PodEvictorOptions) {
    this.#options = options;
  }

  /** Ends the pod as Failed. Does nothing for a critical or a finished pod. */
  evict({ pod, cause, signal, gracePeriodSeconds, failed, annotations }: Eviction): void {
    const { kill, isFinished, events, clock, logger } = this.#options;
    const uid = podUID(pod);
    if (notEvictableBecause(pod) !== null || isFinished(uid)) return;
    const fields = { pod: nameOf(pod), podUID: uid };
    events.record({ object: podReference(pod), type: 'Warning', reason: failed.reason, message: failed.message, annotations });
    logger.info({ ...fields, signal, gracePeriodSeconds, reason: failed.message }, 'Evicting a pod');
    evictions.inc({ eviction_signal: signal });
    this.#inProgress.add(uid, cause, gracePeriodSeconds, clock.monotonic());
    kill(uid, { evicted: true, gracePeriodOverrideSeconds: gracePeriodSeconds, failed }).then(
      () => logger.info(fields, 'The pod is evicted'),
      (err: unknown) => logger.error({ ...fields, err: messageOf(err) }, 'The pod failed to evict'),
    );
  }

  /** Nothing is left of the pod. Called for every pod, whether it was evicted or not. An eviction ends only by this call, or when it is overdue. */
  onPodFinished(uid: PodUID): void {
    if (this.#inProgress.finish(uid)) this.#options.onAllFinished();
  }

  /** Lets overdue evictions count no longer. Called before each pass. */
  update(): void {
    const { clock, logger } = this.#options;
    const overdue = this.#inProgress.expire(clock.monotonic());
    if (overdue.length > 0) logger.warn({ podUIDs: overdue }, 'Timed out waiting for evicted pods to be cleaned up');
  }

  /** Whether a pod that was evicted for this cause has not finished, and is not overdue. */
  isBusy(cause: EvictionCause): boolean {
    return this.#inProgress.has(cause);
  }

  isEvicted(uid: PodUID): boolean {
    return this.#inProgress.isEvicted(uid);
  }

  canEvict(pod: AllocatedPod, cause: EvictionCause): boolean {
    return notEvictableBecause(pod) === null && this.#inProgress.canEvict(podUID(pod), cause);
  }
}

export function nameOf({ metadata: { namespace, name } }: Pod): string {
  return `${namespace}/${name}`;
}
