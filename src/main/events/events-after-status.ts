/**
 * No warning about a pod goes out before the status that it belongs to: whoever reads the event finds in the pod's status what it is about.
 * A warning waits for the end of the sync that it came from, ends every delay of the status, and follows once the status is written. Both
 * waits are bounded. All other events pass at once.
 */
import type { RecordedEvent } from '../../shared/contracts/event.ts';
import type { PodUID } from '../../shared/kubernetes/ids.ts';
import type { Clock } from '../../shared/time/clock.ts';
import type { EventSink } from './event-sink.ts';

export interface EventsAfterStatusOptions {
  readonly next: EventSink;
  readonly statuses: {
    /** The pod's status does not wait for a change that follows. */
    expedite(uid: PodUID): void;
    /** Resolves when the newest status is written; undefined: it is. The signal aborts when nobody waits any longer. */
    whenWritten(uid: PodUID, signal: AbortSignal): Promise<void> | undefined;
  };
  /** Settles when the pod's sync has ended and its status was made; undefined: none is under way. */
  readonly syncUnderWay: (uid: PodUID) => Promise<unknown> | undefined;
  readonly clock: Clock;
}

/** A sync may go on for long after a warning (another container's image is pulled). What its user must know is published meanwhile. */
export const maxSyncWaitMs = 2000;
/** The API server may refuse the status, or not answer. */
export const maxStatusWriteWaitMs = 10_000;
/** As many as the recorder's queue takes. Beyond that, warnings pass at once. */
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

  /** Passes on what waits. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all(this.#waiting);
  }

  async #recordAfterStatus(event: RecordedEvent, uid: PodUID): Promise<void> {
    const { next, statuses, syncUnderWay } = this.#options;
    await this.#atMost(maxSyncWaitMs, () => syncUnderWay(uid));
    statuses.expedite(uid);
    await this.#atMost(maxStatusWriteWaitMs, (signal) => statuses.whenWritten(uid, signal));
    next.record(event);
  }

  /** Never rejects. */
  async #atMost(ms: number, wait: (signal: AbortSignal) => Promise<unknown> | undefined): Promise<void> {
    if (this.#closing.signal.aborted) return;
    const over = new AbortController();
    const signal = AbortSignal.any([over.signal, this.#closing.signal]);
    const awaited = wait(signal);
    if (!awaited) return;
    await Promise.race([awaited, this.#options.clock.sleep(ms, signal)]).catch(() => {});
    over.abort();
  }
}
