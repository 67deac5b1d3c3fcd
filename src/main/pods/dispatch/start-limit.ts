/**
 * Decides how many starts may be in progress at once. During the ramp-up, a burst of starts begins with few permits and gets more with each
 * start that ends, up to the limit. At the limit, the rate of completed starts is measured in one window after the other, and the hill climb of
 * start-parallelism.ts adjusts the limit to the rate.
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
 * Starts granted at once when none was in progress. With the whole limit at once, the first pod of a burst would run only after all these
 * sandboxes (8 sandboxes at a time take 1 s each, one alone takes 100 ms).
 */
const initialStartsPerCore = 1;
/** How many more starts are allowed after a container has started, and after any other start has ended. */
const growth = { container: 2, other: 1 };
/** A measurement ends after this many starts per permit, and not before the minimum; with fewer starts, one slow start would decide. */
const startsPerPermit = 2;
const minimumStarts = 12;

export class StartLimit {
  readonly #clock: Clock;
  readonly #bounds: ParallelismBounds;
  readonly #initialRampUpLimit: number;
  #parallelism: StartParallelism;
  /** Grows with each start that ends, from `#initialRampUpLimit`, to which it returns when no start waits or is in progress. */
  #rampUpLimit: number;
  /** Runs only while starts wait: the rate of a limit that is not fully used says nothing about the limit. */
  #measurement: { startedAtMs: number; work: number; starts: number } | null = null;

  constructor({ clock, cores, bounds = boundsFor(cores) }: StartLimitOptions) {
    this.#clock = clock;
    this.#bounds = bounds;
    this.#parallelism = initialParallelism(cores, bounds);
    this.#initialRampUpLimit = initialStartsPerCore * cores;
    this.#rampUpLimit = this.#initialRampUpLimit;
  }

  /** The limit that the hill climb has found. */
  get limit(): number {
    return this.#parallelism.limit;
  }

  /** Starts that may be in progress now: less than the limit during the ramp-up. */
  get allowed(): number {
    return Math.min(this.#parallelism.limit, this.#rampUpLimit);
  }

  get isRampingUp(): boolean {
    return this.#rampUpLimit < this.#parallelism.limit;
  }

  /** A start has ended: allows more. */
  continueRampUp(kind: keyof typeof growth): void {
    this.#rampUpLimit = Math.min(this.#rampUpLimit + growth[kind], this.#bounds.max);
  }

  /** No start waits or is in progress: the next burst begins with few starts. */
  restartRampUp(): void {
    this.#rampUpLimit = this.#initialRampUpLimit;
  }

  /** Starts a measurement when starts wait, and ends it when none waits. None runs during the ramp-up, which uses only a part of the limit. */
  updateMeasurement(isAnyWaiting: boolean): void {
    if (!isAnyWaiting) this.#measurement = null;
    else if (!this.isRampingUp) this.#measurement ??= { startedAtMs: this.#clock.monotonic(), work: 0, starts: 0 };
  }

  /** Discards the measurement: some of the permits were unused. */
  discardMeasurement(): void {
    this.#measurement = null;
  }

  /** Counts a successful start; the last one of a measurement adjusts the limit. */
  countStart(kind: StartKind): void {
    const measurement = this.#measurement;
    if (!measurement) return;
    measurement.work += startWork[kind];
    measurement.starts += 1;
    if (measurement.starts < Math.max(minimumStarts, startsPerPermit * this.#parallelism.limit)) return;
    const nowMs = this.#clock.monotonic();
    const window = { work: measurement.work, durationMs: nowMs - measurement.startedAtMs };
    this.#parallelism = nextParallelism(this.#parallelism, window, this.#bounds);
    this.#measurement = { startedAtMs: nowMs, work: 0, starts: 0 };
  }
}
