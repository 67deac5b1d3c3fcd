/**
 * A permit to start a sandbox or a container, and the state of the start that the permit was granted for. A start in progress counts against the
 * limit of starts, until it is overdue or its result is not needed any more: the runtime may continue an uncounted start.
 */
import type { Clock } from '../../../shared/time/clock.ts';
import type { StartLane } from './start-lanes.ts';
import type { StartKind, StartRequest } from './start-request.ts';

export interface StartPermit {
  /** Ends the start. Idempotent. */
  release(succeeded: boolean): void;
  /** The sandbox was created. The permit now counts for the start of a container of the same pod. */
  transfer(): void;
  /** The result of the start is no longer needed: the start stops counting against the limit, although the runtime may continue it. */
  stopCounting(): void;
}

/** The part that grants permits (StartAdmission). */
export interface StartPermitOwner {
  readonly clock: Clock;
  /** Ms from the beginning of a start until it stops counting. */
  overdueAfterMs(critical: boolean): number;
  onSucceeded(start: StartInProgress, durationMs: number): void;
  onUncounted(start: StartInProgress): void;
  onCountedAgain(start: StartInProgress): void;
  onReleased(start: StartInProgress, succeeded: boolean, wasCounted: boolean): void;
}

/**
 *   counted ──overdue, or stopCounting──▶ uncounted ──release──▶ released
 *    │    ▲                                │
 *    │    └───────────transfer─────────────┘
 *    └──release──▶ released
 */
export class StartInProgress implements StartPermit {
  readonly request: StartRequest;
  readonly lane: StartLane;
  readonly #owner: StartPermitOwner;
  #kind: StartKind;
  #state: 'counted' | 'uncounted' | 'released' = 'counted';
  #startedAtMs = 0;
  #cancelTimer = () => {};

  constructor(request: StartRequest, lane: StartLane, owner: StartPermitOwner) {
    this.request = request;
    this.lane = lane;
    this.#owner = owner;
    this.#kind = request.kind;
    this.#begin();
  }

  /** `container` after a transfer. */
  get kind(): StartKind {
    return this.#kind;
  }

  get isCounted(): boolean {
    return this.#state === 'counted';
  }

  stopCounting(): void {
    if (this.#state !== 'counted') return;
    this.#cancelTimer();
    this.#state = 'uncounted';
    this.#owner.onUncounted(this);
  }

  transfer(): void {
    if (this.#state === 'released' || this.#kind === 'container') return;
    this.#end(true);
    this.#kind = 'container';
    if (this.#state === 'uncounted') {
      this.#state = 'counted';
      this.#owner.onCountedAgain(this);
    }
    this.#begin();
  }

  release(succeeded: boolean): void {
    if (this.#state === 'released') return;
    this.#end(succeeded);
    const { isCounted } = this;
    this.#state = 'released';
    this.#owner.onReleased(this, succeeded, isCounted);
  }

  #begin(): void {
    this.#startedAtMs = this.#owner.clock.monotonic();
    this.#stopCountingWhenOverdue();
  }

  /**
   * Starts that began together are overdue together, and each one that stops counting extends the time of the others (overdue-starts.ts). So the
   * time is computed again when it seems to be over.
   */
  #stopCountingWhenOverdue(): void {
    const { clock } = this.#owner;
    const leftMs = this.#startedAtMs + this.#owner.overdueAfterMs(this.request.critical) - clock.monotonic();
    if (leftMs <= 0) return this.stopCounting();
    this.#cancelTimer = clock.after(leftMs, () => this.#stopCountingWhenOverdue());
  }

  #end(succeeded: boolean): void {
    this.#cancelTimer();
    // Only successful starts are measured: a start that failed at once would look like a fast start.
    if (succeeded) this.#owner.onSucceeded(this, this.#owner.clock.monotonic() - this.#startedAtMs);
  }
}
