/**
 * Decides when a resync may begin: the sync of a pod that lacks nothing. A resync costs main, the pool, the pleg thread and the runtime some 10 ms
 * together, which delays the start of other pods. So resyncs are rare while another sync has something to do, and begin a little later after the
 * kubelet starts.
 */
import type { Clock } from '../../../shared/time/clock.ts';

/** Resyncs at a time. A resync hardly waits for anything, so more resyncs at a time would not be done sooner. */
const limits = { idle: 4, busy: 1 };
/** While busy, one resync begins per period. */
const busyPeriodMs = 100;
/** Delay of the first resync: a kubelet that starts finds its pods one after another, and the last pod may have something to do. */
const initialDelayMs = 200;
/** A sync with something to do keeps the throttle busy for at most this long: it may wait for something other than a core. */
const maxBusyMs = 2000;

export class ResyncThrottle {
  readonly #clock: Clock;
  readonly #onOpen: () => void;
  /** Monotonic ms before which no resync begins. Infinity before the first request. */
  #openAtMs = Infinity;
  /** Monotonic ms before which no resync begins while busy. */
  #nextBusyAtMs = -Infinity;
  /** Number of syncs in progress with something to do. */
  #busy = 0;

  /** `onOpen` is called when a resync may begin that could not begin before. */
  constructor(clock: Clock, onOpen: () => void) {
    this.#clock = clock;
    this.#onOpen = onOpen;
  }

  /** Starts the initial delay at the first request for a sync slot. */
  onRequest(): void {
    if (this.#openAtMs < Infinity) return;
    this.#openAtMs = this.#clock.monotonic() + initialDelayMs;
    this.#clock.after(initialDelayMs, this.#onOpen);
  }

  /** Whether another resync may begin while `inProgress` resyncs are in progress. */
  isOpen(inProgress: number): boolean {
    const nowMs = this.#clock.monotonic();
    if (this.#busy === 0) return inProgress < limits.idle && nowMs >= this.#openAtMs;
    return inProgress < limits.busy && nowMs >= Math.max(this.#openAtMs, this.#nextBusyAtMs);
  }

  /** A resync begins. */
  onResync(): void {
    const nowMs = this.#clock.monotonic();
    if (nowMs < this.#nextBusyAtMs) return;
    this.#nextBusyAtMs = nowMs + busyPeriodMs;
    this.#clock.after(busyPeriodMs, this.#onOpen);
  }

  /** A sync with something to do begins. Call the result when the sync ends; idempotent. */
  beginBusy(): () => void {
    this.#busy += 1;
    let isBusy = true;
    const end = () => {
      if (!isBusy) return;
      isBusy = false;
      cancel();
      this.#busy -= 1;
      this.#onOpen();
    };
    const cancel = this.#clock.after(maxBusyMs, end);
    return end;
  }
}
