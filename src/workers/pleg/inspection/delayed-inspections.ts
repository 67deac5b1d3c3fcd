/**
 * Delays the inspections after runtime events that may wait. All events of a pod within the delay share one inspection, which is omitted when another
 * inspection of the pod has begun since the newest of these events.
 */
import type { PodUID } from '../../../shared/kubernetes/ids.ts';
import type { Clock } from '../../../shared/time/clock.ts';
import type { PodRecords } from '../records/pod-records.ts';

export interface DelayedInspectionsDependencies {
  readonly records: Pick<PodRecords, 'get'>;
  readonly inspect: (uid: PodUID) => void;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

export class DelayedInspections {
  readonly #deps: DelayedInspectionsDependencies;
  /** The monotonic ms of the newest event of each pod that waits for its inspection. */
  readonly #pending = new Map<PodUID, number>();

  constructor(dependencies: DelayedInspectionsDependencies) {
    this.#deps = dependencies;
  }

  /** The delay of a pod's first event counts. */
  request(uid: PodUID, delayMs: number): void {
    const { records, inspect, clock, signal } = this.#deps;
    const receivedAtMs = clock.monotonic();
    const isScheduled = this.#pending.has(uid);
    this.#pending.set(uid, receivedAtMs);
    if (isScheduled) return;
    clock.after(delayMs, () => {
      const newestMs = this.#pending.get(uid)!;
      this.#pending.delete(uid);
      const observedAtMs = records.get(uid)?.posted?.observedAtMs ?? -Infinity;
      if (!signal.aborted && observedAtMs < newestMs) inspect(uid);
    });
  }
}

/** Pods rarely have more containers and sandboxes, dead ones included. In a pod with no more items, each removal is inspected at once. */
const fewItems = 10;
const maxRemovalDelayMs = 1000;

/**
 * Returns the delay of the inspection after an ended container or sandbox was removed. An inspection posts the status of the whole pod, which
 * costs about 50 µs per container on both threads. Without a delay, the removal of n dead instances would cost n². A removal takes the runtime
 * milliseconds, so a delay of 1 ms per item at most doubles the time until the last removal is known.
 */
export function computeRemovalDelayMs(items: number): number {
  return items <= fewItems ? 0 : Math.min(items, maxRemovalDelayMs);
}
