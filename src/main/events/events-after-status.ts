/**
 * Publishes a warning about a pod after the status that belongs to it, so that a client that reads the event finds its cause in the pod's
 * status. A warning waits for the end of the pod's current sync, expedites the pod's status, and is recorded once the status is written.
 * Both waits are bounded. All other events are recorded at once.
 */
import type { RecordedEvent } from '../../shared/contracts/event.ts';
import type { PodUID } from '../../shared/kubernetes/ids.ts';
import type { Clock } from '../../shared/time/clock.ts';
import type { EventSink } from './event-sink.ts';

export interface EventsAfterStatusOptions {
  readonly next: EventSink;
  readonly statuses: {
    /** Writes the pod's pending status without a coalesce delay. */
    expedite(uid: PodUID): void;
    /** Resolves when the newest status is written; undefined when nothing is pending. The signal aborts the wait. */
    whenWritten(uid: PodUID, signal: AbortSignal): Promise<void> | undefined;
  };
  /** Settles when the pod's sync has ended and its status is generated; undefined when no sync is running. */
  readonly syncInProgress: (uid: PodUID) => Promise<unknown> | undefined;
  readonly clock: Clock;
}

/** The longest wait for the sync, which may run long after the warning, for example to pull another container's image. */
export const maxSyncWaitMs = 2000;
/** The longest wait for the status write: the API server may refuse it or not respond. */
export const maxStatusWriteWaitMs = 10_000;
/** The limit of the recorder's queue. More warnings are recorded at once. */
const maxWaiting = 1000;

export class EventsAfterStatus implements EventSink {
  readonly #options: EventsAfterStatusOptions;
  readonly #waiting = new Set<Promise<void>>();
  readonly #closing = new AbortController();

  constructor(options: EventsAfterStatusOptions) {
    this.#options = options;
  }

  record(event: RecordedEvent): void {
    const { next, clock } = this.#options;
    const { kind, uid } = event.object;
    if (event.type !== 'Warning' || kind !== 'Pod' || !uid || this.#waiting.size >= maxWaiting) return next.record(event);
    const waiting = this.#recordAfterStatus({ atMs: clock.now(), ...event }, uid as PodUID).finally(() => this.#waiting.delete(waiting));
    this.#waiting.add(waiting);
  }

  /** Records the waiting warnings at once. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all(this.#waiting);
  }

  async #recordAfterStatus(event: RecordedEvent, uid: PodUID): Promise<void> {
    const { next, statuses, syncInProgress } = this.#options;
    await this.#waitAtMost(maxSyncWaitMs, () => syncInProgress(uid));
    statuses.expedite(uid);
    await this.#waitAtMost(maxStatusWriteWaitMs, (signal) => statuses.whenWritten(uid, signal));
    next.record(event);
  }

  /** Never rejects. */
  async #waitAtMost(ms: number, wait: (signal: AbortSignal) => Promise<unknown> | undefined): Promise<void> {
    if (this.#closing.signal.aborted) return;
    const stop = new AbortController();
    const signal = AbortSignal.any([stop.signal, this.#closing.signal]);
    const awaited = wait(signal);
    if (!awaited) return;
    await Promise.race([awaited, this.#options.clock.sleep(ms, signal)]).catch(() => {});
    stop.abort();
  }
}
