/**
 * When a sync that will find nothing to do may begin. Each costs main, the pool, the pleg thread and the runtime some 10 ms together, and those
 * start pods: beside a pod that has something to do they come slowly, and in a kubelet that has just begun a little later.
 */
import type { Clock } from '../../../shared/time/clock.ts';

/** So many at a time: they wait for next to nothing, and more of them are not done sooner. */
const limits = { alone: 4, besideBusy: 1 };
/** Beside pods that have something to do one begins in so many ms. */
const besideBusyPeriodMs = 100;
/** So long the first of them waits: a kubelet that begins finds its pods in a row, and one that has something to do may be the last. */
const firstAfterMs = 200;
/** So long, at most, a sync that has something to do holds them up: it may wait for something else than a core. */
const busyMs = 2000;

export class ResyncThrottle {
  readonly #clock: Clock;
  readonly #onOpen: () => void;
  /** Monotonic ms: none begins before. Infinity: nobody has asked for a turn yet. */
  #firstAtMs = Infinity;
  /** The same beside pods that have something to do. */
  #nextAtMs = -Infinity;
  #busy = 0;

  /** `onOpen`: one may begin that could not before. */
  constructor(clock: Clock, onOpen: () => void) {
    this.#clock = clock;
    this.#onOpen = onOpen;
  }

  /** Somebody asks for a turn. */
  asked(): void {
    if (this.#firstAtMs < Infinity) return;
    this.#firstAtMs = this.#clock.monotonic() + firstAfterMs;
    this.#clock.after(firstAfterMs, this.#onOpen);
  }

  /** Whether one may begin beside so many others. */
  isOpen(underWay: number): boolean {
    const nowMs = this.#clock.monotonic();
    if (this.#busy === 0) return underWay < limits.alone && nowMs >= this.#firstAtMs;
    return underWay < limits.besideBusy && nowMs >= Math.max(this.#firstAtMs, this.#nextAtMs);
  }

  /** One begins. */
  passed(): void {
    const nowMs = this.#clock.monotonic();
    if (nowMs < this.#nextAtMs) return;
    this.#nextAtMs = nowMs + besideBusyPeriodMs;
    this.#clock.after(besideBusyPeriodMs, this.#onOpen);
  }

  /** A sync begins that has something to do. To be called when it is over, once or more. */
  hold(): () => void {
    this.#busy += 1;
    let isHeld = true;
    const release = () => {
      if (!isHeld) return;
      isHeld = false;
      cancel();
      this.#busy -= 1;
      this.#onOpen();
    };
    const cancel = this.#clock.after(busyMs, release);
    return release;
  }
}
