/**
 * Grants permits to start a sandbox or a container, and queues the requests for which no permit is free. start-limit.ts decides how many starts
 * may be in progress. Each permit belongs to a lane, which is a limit of its own (start-lanes.ts): restarts and critical pods do not wait behind
 * a burst of new pods, and small pods do not wait behind large ones. A start that the runtime does not complete in time stops counting against
 * the limit (overdue-starts.ts). Stops need no permit.
 */
import { Listeners } from '../../../shared/concurrency/listeners.ts';
import { startPermitLimit, startPermitsHung, startPermitsInUse, startPermitsWaiting } from '../../../shared/metrics/definitions/pods.ts';
import type { Clock } from '../../../shared/time/clock.ts';
import { nextTypicalMs, overdueAfterMs } from './overdue-starts.ts';
import { StartLanes, type StartLane } from './start-lanes.ts';
import { StartLimit, type StartLimitOptions } from './start-limit.ts';
import { StartInProgress, type StartPermit, type StartPermitOwner } from './start-permit.ts';
import { startsBefore, type StartRequest } from './start-request.ts';

export type StartAdmissionOptions = StartLimitOptions;

interface Waiter {
  readonly request: StartRequest;
  readonly grant: (permit: StartPermit) => void;
}

/**
 * During the ramp-up of a burst (start-limit.ts), the permit of a created sandbox stays reserved for a container for this long. Otherwise the
 * next sandboxes would get the permit, and the first container would wait for them. Ten times what a pod needs between its sandbox and its
 * container.
 */
const reservationMs = 200;

export class StartAdmission {
  readonly #clock: Clock;
  readonly #limit: StartLimit;
  readonly #lanes = new StartLanes();
  /** Starts in progress that do not count against the limit: they are overdue, or nobody needs their result any more. */
  #uncounted = 0;
  /** Smoothed duration of recent starts; null before the first one ended. */
  #typicalMs: number | null = null;
  /** Reserved permits, which count as in use. Each function cancels the expiry of one reservation. */
  readonly #reservations = new Set<() => void>();
  /** Ordered by `startsBefore`: the first request starts first. */
  #waiting: Waiter[] = [];
  readonly #idleListeners = new Listeners();
  readonly #owner: StartPermitOwner;

  constructor(options: StartAdmissionOptions) {
    this.#clock = options.clock;
    this.#limit = new StartLimit(options);
    this.#owner = {
      clock: options.clock,
      overdueAfterMs: (critical) => overdueAfterMs({ uncountedStarts: this.#uncounted, typicalMs: this.#typicalMs, critical }),
      onSucceeded: (start, durationMs) => this.#onSucceeded(start, durationMs),
      onUncounted: (start) => this.#onUncounted(start),
      onCountedAgain: (start) => this.#onCountedAgain(start),
      onReleased: (start, succeeded, wasCounted) => this.#onReleased(start, succeeded, wasCounted),
    };
  }

  /** Resolves when the start may begin; rejects with the signal's reason. Release every permit. */
  acquire(request: StartRequest, signal: AbortSignal): Promise<StartPermit> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason as Error);
      const onAbort = () => {
        this.#waiting = this.#waiting.filter((other) => other !== waiter);
        // When no start waits any more, this ends the measurement of the limit.
        this.#admit();
        reject(signal.reason as Error);
      };
      const grant = (permit: StartPermit) => {
        signal.removeEventListener('abort', onAbort);
        resolve(permit);
      };
      const waiter: Waiter = { request, grant };
      signal.addEventListener('abort', onAbort, { once: true });
      const index = this.#waiting.findIndex((other) => startsBefore(request, other.request));
      this.#waiting.splice(index === -1 ? this.#waiting.length : index, 0, waiter);
      this.#admit();
    });
  }

  /** Returns a permit when the start may begin at once, else null; a null result leaves no request in the queue. */
  tryAcquire(request: StartRequest): StartPermit | null {
    const lane = this.#waiting.length > 0 ? undefined : this.#lanes.laneFor(request, this.allowed);
    if (!lane) return null;
    this.#lanes.enter(lane, request);
    startPermitsInUse.set(this.inFlight);
    return this.#permit(request, lane);
  }

  /** Resolves when no start waits or is in progress, or when the signal aborts. */
  async untilIdle(signal: AbortSignal): Promise<void> {
    if (signal.aborted || this.#isIdle) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const removeListener = this.#idleListeners.add(resolve);
    signal.addEventListener('abort', () => resolve(), { once: true });
    await promise;
    removeListener();
  }

  get #isIdle(): boolean {
    return this.waiting === 0 && this.inFlight === 0;
  }

  get limit(): number {
    return this.#limit.limit;
  }
  /** Starts that may be in progress in the common lane now: during the ramp-up, less than `limit`. */
  get allowed(): number {
    return this.#limit.allowed;
  }
  get waiting(): number {
    return this.#waiting.length;
  }
  /** Starts in progress that count, and reservations. */
  get inFlight(): number {
    return this.#lanes.inFlight;
  }
  get uncounted(): number {
    return this.#uncounted;
  }

  /** Grants permits to waiting requests, the first ones first. Called after each change of the queue, of the limit or of the permits in use. */
  #admit(): void {
    for (let index = 0; index < this.#waiting.length;) {
      const { request, grant } = this.#waiting[index]!;
      const isReserved = request.kind === 'container' && this.#takeReservation(request);
      const lane = isReserved ? 'common' : this.#lanes.laneFor(request, this.allowed);
      if (lane) {
        this.#waiting.splice(index, 1);
        if (!isReserved) this.#lanes.enter(lane, request);
        grant(this.#permit(request, lane));
      } else if (request.restart || request.critical || request.large) {
        // A request behind this one may fit in another lane.
        index += 1;
      } else break;
    }
    this.#limit.updateMeasurement(this.#waiting.length > 0);
    startPermitLimit.set(this.limit);
    startPermitsInUse.set(this.inFlight);
    startPermitsHung.set(this.uncounted);
    startPermitsWaiting.set(this.waiting);
    if (this.#isIdle) this.#idleListeners.notify();
  }

  #permit(request: StartRequest, lane: StartLane): StartPermit {
    return new StartInProgress(request, lane, this.#owner);
  }

  #onSucceeded({ kind, isCounted }: StartInProgress, durationMs: number): void {
    this.#typicalMs = nextTypicalMs(this.#typicalMs, durationMs);
    // When a runtime recovers, all uncounted starts may end at once. Their number says nothing about how fast the runtime starts containers.
    if (isCounted) this.#limit.countStart(kind);
  }

  #onUncounted({ lane, request }: StartInProgress): void {
    this.#uncounted += 1;
    this.#lanes.leave(lane, request);
    // The runtime completed nothing with this permit, so the measured rate is not that of the whole limit.
    this.#limit.discardMeasurement();
    this.#onPermitFreed('other');
  }

  #onCountedAgain({ lane, request }: StartInProgress): void {
    this.#uncounted -= 1;
    this.#lanes.enter(lane, request);
  }

  #onReleased({ lane, kind, request }: StartInProgress, succeeded: boolean, wasCounted: boolean): void {
    if (!wasCounted) {
      this.#uncounted -= 1;
      return this.#admit();
    }
    if (lane === 'common' && kind === 'sandbox' && succeeded && this.#limit.isRampingUp) return this.#reserve(request);
    this.#lanes.leave(lane, request);
    this.#onPermitFreed(succeeded && kind === 'container' ? 'container' : 'other');
  }

  /** Keeps the permit of a created sandbox for a container. */
  #reserve(request: StartRequest): void {
    this.#lanes.reserve(request);
    const cancel = this.#clock.after(reservationMs, () => {
      this.#reservations.delete(cancel);
      this.#lanes.cancelReservation();
      this.#onPermitFreed('other');
    });
    this.#reservations.add(cancel);
    this.#admit();
  }

  /** Gives one reserved permit to the container. Returns false when none is reserved. */
  #takeReservation(request: StartRequest): boolean {
    const [cancel] = this.#reservations;
    if (!cancel) return false;
    cancel();
    this.#reservations.delete(cancel);
    this.#lanes.takeReservation(request);
    return true;
  }

  /** @param kind `container`: a container has started. `other`: another start ended, stopped counting, or its reservation expired. */
  #onPermitFreed(kind: 'container' | 'other'): void {
    if (this.#isIdle) this.#limit.restartRampUp();
    else this.#limit.continueRampUp(kind);
    this.#admit();
  }
}
