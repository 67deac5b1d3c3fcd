/**
 * How many starts may be in progress at once. A burst begins with few starts and ramps up to the limit; at the limit, the hill climb of
 * start-parallelism.ts adjusts the limit to the rate of starts that the runtime completes.
 */
import {
  boundsFor,
  initialParallelism,
  nextParallelism,
  startWork,
  type ParallelismBounds,
  type StartParallelism,
} from './start-parallelism.ts';
import type { StartKind } from './start-request.ts';
import type { Clock } from '../../../shared/time/clock.ts';

export interface StartLimitOptions {
  readonly clock: Clock;
  readonly cores: number;
  readonly bounds?: ParallelismBounds;
}

/**
 * Starts granted at once when none was in progress. Each pod that starts then adds two, up to the limit: the first pod of a burst runs while
 * the runtime would still create the sandboxes of the whole limit (8 sandboxes at a time take 1 s each, one alone takes 100 ms).
 */
const initialStartsPerCore = 1;
const growth = { container: 2, other: 1 };
/** A window is judged after this many starts per permit; with fewer starts, one slow start would decide. */
const startsPerPermit = 2;
const minimumStartsInWindow = 12;

export class StartLimit {
  readonly #clock: Clock;
  readonly #bounds: ParallelismBounds;
  readonly #initialRamp: number;
  #parallelism: StartParallelism;
  /** Grows from `#initialRamp` with each start that ends; reset when no start waits or is in progress. */
  #ramp: number;
  /** Open only while starts wait: the rate of a limit that is not fully used says nothing about the limit. */
  #window: { startedAtMs: number; work: number; starts: number } | null = null;

  constructor({ clock, cores, bounds = boundsFor(cores) }: StartLimitOptions) {
    this.#clock = clock;
    this.#bounds = bounds;
    this.#parallelism = initialParallelism(cores, bounds);
    this.#initialRamp = initialStartsPerCore * cores;
    this.#ramp = this.#initialRamp;
  }

  /** The limit of the hill climb. */
  get limit(): number {
    return this.#parallelism.limit;
  }

  /** Starts that may be in progress now: less than the limit during the ramp. */
  get allowed(): number {
    return Math.min(this.#parallelism.limit, this.#ramp);
  }

  get isRamping(): boolean {
    return this.#ramp < this.#parallelism.limit;
  }

  growRamp(kind: keyof typeof growth): void {
    this.#ramp = Math.min(this.#ramp + growth[kind], this.#bounds.max);
  }

  resetRamp(): void {
    this.#ramp = this.#initialRamp;
  }

  /** Opens the window while starts wait. During the ramp, the rate is that of the ramp, not of the limit. */
  updateWindow(isAnyWaiting: boolean): void {
    if (!isAnyWaiting) this.#window = null;
    else if (!this.isRamping) this.#window ??= { startedAtMs: this.#clock.monotonic(), work: 0, starts: 0 };
  }

  /** Discards the window: some of the permits were unused. */
  discardWindow(): void {
    this.#window = null;
  }

  /** Counts a successful start; the last one of a window adjusts the limit. */
  countStart(kind: StartKind): void {
    const window = this.#window;
    if (!window) return;
    window.work += startWork[kind];
    window.starts += 1;
    if (window.starts < Math.max(minimumStartsInWindow, startsPerPermit * this.#parallelism.limit)) return;
    const nowMs = this.#clock.monotonic();
    this.#parallelism = nextParallelism(this.#parallelism, { work: window.work, durationMs: nowMs - window.startedAtMs }, this.#bounds);
    this.#window = { startedAtMs: nowMs, work: 0, starts: 0 };
  }
}
