/**
 * Permits to start a sandbox or a container: starts are let in at the parallelism that the runtime is fastest at, the most important
 * and then the oldest pod first, instead of all at once. Restarts and critical pods never wait behind a burst of new pods
 * (start-lanes.ts); stops need no permit at all. A start that the runtime does not end in time does not count any more (overdue-starts.ts).
 */
import { startPermitLimit, startPermitsHung, startPermitsInUse, startPermitsWaiting } from '../../../shared/metrics/definitions/pods.ts';
import { nextTypicalMs, overdueAfterMs } from './overdue-starts.ts';
import { StartLanes, type StartLane } from './start-lanes.ts';
import {
  boundsFor,
  initialParallelism,
  nextParallelism,
  startWork,
  type ParallelismBounds,
  type StartParallelism,
} from './start-parallelism.ts';
import type { Clock } from '../../../shared/time/clock.ts';

/** Which of two pods starts first. */
export interface StartRank {
  /** Static and critical pods above all others, then spec.priority. */
  readonly priority: number;
  /** When the pod was first seen: what began first is finished first. */
  readonly podSeenAtMs: number;
}

export interface StartRequest extends StartRank {
  readonly kind: 'sandbox' | 'container';
  /** The pod ran before: its containers are started again. */
  readonly restart: boolean;
  /** Upstream: kubetypes.IsCriticalPod. */
  readonly critical: boolean;
}

export interface StartPermit {
  /** Gives it back, once: the call ended. */
  release(succeeded: boolean): void;
  /** The sandbox was made, and its place is now that of a container of its pod. */
  transfer(): void;
  /** Nobody wants the start any more: it does not count from now on, although the runtime may be at it for long. */
  stopCounting(): void;
}

interface Waiter {
  readonly request: StartRequest;
  readonly arrival: number;
  readonly grant: (permit: StartPermit) => void;
}

export interface StartAdmissionOptions {
  readonly clock: Clock;
  readonly cores: number;
  readonly bounds?: ParallelismBounds;
}

/** Starts let in at once when nothing was under way; each pod that got through lets in two more, up to the limit. So the first pod of a
 *  burst runs while a full house would still be at its sandboxes: 8 at a time take a second each where one takes 100 ms. */
const firstStartsPerCore = 1;
const growth = { container: 2, other: 1 };
/** Until the limit is reached a sandbox leaves its place to its pod's container, if that comes soon: else the next sandboxes take it, and
 *  the first container waits for them. Ten times what a pod needs in between. */
const keptMs = 200;
/** A window is judged after so many starts for each permit: fewer, and one slow start decides. */
const startsPerPermit = 2;
const minimumStartsInWindow = 12;

export class StartAdmission {
  readonly #clock: Clock;
  readonly #bounds: ParallelismBounds;
  readonly #firstStarts: number;
  #parallelism: StartParallelism;
  /** Grows from `#firstStarts` with each start that ends, and begins anew once none is under way. */
  #ramp: number;
  readonly #lanes = new StartLanes();
  /** Starts under way that do not count. */
  #hung = 0;
  #typicalMs: number | null = null;
  /** Places of sandboxes that were made, in flight still; called, each ends its own time. */
  readonly #kept = new Set<() => void>();
  #arrivals = 0;
  #waiting: Waiter[] = [];
  readonly #calm = new Set<() => void>();
  /** Counted only while starts are waiting: a limit that is not in full use says nothing. */
  #window: { startedAtMs: number; work: number; starts: number } | null = null;

  constructor({ clock, cores, bounds = boundsFor(cores) }: StartAdmissionOptions) {
    this.#clock = clock;
    this.#bounds = bounds;
    this.#parallelism = initialParallelism(cores, bounds);
    this.#firstStarts = firstStartsPerCore * cores;
    this.#ramp = this.#firstStarts;
  }

  /** Resolves when the start may go ahead; rejects with the signal's reason. Every permit must be released. */
  acquire(request: StartRequest, signal: AbortSignal): Promise<StartPermit> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason as Error);
      const onAbort = () => {
        this.#waiting = this.#waiting.filter((other) => other !== waiter);
        // A limit that nobody waits for any more is not to be judged.
        this.#admit();
        reject(signal.reason as Error);
      };
      this.#arrivals += 1;
      const grant = (permit: StartPermit) => {
        signal.removeEventListener('abort', onAbort);
        resolve(permit);
      };
      const waiter: Waiter = { request, arrival: this.#arrivals, grant };
      signal.addEventListener('abort', onAbort, { once: true });
      const at = this.#waiting.findIndex((other) => goesBefore(waiter, other));
      this.#waiting.splice(at === -1 ? this.#waiting.length : at, 0, waiter);
      this.#admit();
    });
  }

  /** The same, if it may go ahead at once; else null, and nothing waits. */
  tryAcquire(request: StartRequest): StartPermit | null {
    const lane = this.#waiting.length > 0 ? undefined : this.#lanes.laneFor(request, this.allowed);
    if (!lane) return null;
    this.#lanes.enter(lane, request);
    startPermitsInUse.set(this.inFlight);
    return this.#permit(request, lane);
  }

  /** Resolves when no start waits or is under way, or the signal aborts. */
  async untilIdle(signal: AbortSignal): Promise<void> {
    if (signal.aborted || this.#isCalm) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#calm.add(resolve);
    signal.addEventListener('abort', () => resolve(), { once: true });
    await promise;
    this.#calm.delete(resolve);
  }

  get #isCalm(): boolean {
    return this.waiting === 0 && this.inFlight === 0;
  }

  get limit(): number {
    return this.#parallelism.limit;
  }
  /** Starts that may be under way at once now: less than the limit until enough have ended. */
  get allowed(): number {
    return Math.min(this.#parallelism.limit, this.#ramp);
  }
  get waiting(): number {
    return this.#waiting.length;
  }
  /** Without those that hang. */
  get inFlight(): number {
    return this.#lanes.inFlight;
  }
  get hung(): number {
    return this.#hung;
  }

  #admit(): void {
    for (let at = 0; at < this.#waiting.length;) {
      const { request, grant } = this.#waiting[at]!;
      const isKept = request.kind === 'container' && this.#takeKept(request);
      const lane = isKept ? 'common' : this.#lanes.laneFor(request, this.allowed);
      if (lane) {
        this.#waiting.splice(at, 1);
        if (!isKept) this.#lanes.enter(lane, request);
        grant(this.#permit(request, lane));
      } else if (request.restart || request.critical) {
        // One of another kind may go beside a full house even so.
        at += 1;
      } else break;
    }
    if (this.#waiting.length === 0) this.#window = null;
    // While the ramp is below the limit, it is not the limit that is seen.
    else if (this.#ramp >= this.#parallelism.limit) this.#window ??= { startedAtMs: this.#clock.monotonic(), work: 0, starts: 0 };
    startPermitLimit.set(this.limit);
    startPermitsInUse.set(this.inFlight);
    startPermitsHung.set(this.hung);
    startPermitsWaiting.set(this.waiting);
    if (this.#isCalm) for (const resolve of this.#calm) resolve();
  }

  /** Of a start that has just entered its lane. */
  #permit(request: StartRequest, lane: StartLane): StartPermit {
    let { kind } = request;
    let state: 'counts' | 'hangs' | 'released' = 'counts';
    let beganAtMs = 0;
    let cancel = () => {};
    const begin = () => {
      beganAtMs = this.#clock.monotonic();
      setAsideWhenOverdue();
    };
    // Starts that began together are overdue together: each that is set aside gives the others more time.
    const setAsideWhenOverdue = () => {
      const { critical } = request;
      const leftMs = beganAtMs + overdueAfterMs({ hung: this.#hung, typicalMs: this.#typicalMs, critical }) - this.#clock.monotonic();
      if (leftMs <= 0) return setAside();
      cancel = this.#clock.after(leftMs, setAsideWhenOverdue);
    };
    const setAside = () => {
      if (state !== 'counts') return;
      cancel();
      state = 'hangs';
      this.#hung += 1;
      this.#lanes.leave(lane, request);
      // Its place was idle: the window says nothing of the limit.
      this.#window = null;
      this.#grow(growth.other);
    };
    const ended = (succeeded: boolean) => {
      cancel();
      // A start that failed at once would look like a fast one.
      if (!succeeded) return;
      this.#typicalMs = nextTypicalMs(this.#typicalMs, this.#clock.monotonic() - beganAtMs);
      // All that hung may end at once when the runtime comes back: that is no rate of starts.
      if (state === 'counts') this.#count(startWork[kind]);
    };
    begin();
    return {
      stopCounting: setAside,
      transfer: () => {
        if (state === 'released' || kind === 'container') return;
        ended(true);
        kind = 'container';
        if (state === 'hangs') {
          state = 'counts';
          this.#hung -= 1;
          this.#lanes.enter(lane, request);
        }
        begin();
      },
      release: (succeeded) => {
        if (state === 'released') return;
        const hung = state === 'hangs';
        ended(succeeded);
        state = 'released';
        if (hung) {
          this.#hung -= 1;
          return this.#admit();
        }
        if (lane === 'common' && kind === 'sandbox' && succeeded && this.#ramp < this.#parallelism.limit) return this.#keep(request);
        this.#lanes.leave(lane, request);
        this.#grow(succeeded && kind === 'container' ? growth.container : growth.other);
      },
    };
  }

  #keep(request: StartRequest): void {
    this.#lanes.keepPlace(request);
    const cancel = this.#clock.after(keptMs, () => {
      this.#kept.delete(cancel);
      this.#lanes.giveUpKeptPlace();
      this.#grow(growth.other);
    });
    this.#kept.add(cancel);
    this.#admit();
  }

  #takeKept(request: StartRequest): boolean {
    const [cancel] = this.#kept;
    if (!cancel) return false;
    cancel();
    this.#kept.delete(cancel);
    this.#lanes.takeKeptPlace(request);
    return true;
  }

  #grow(by: number): void {
    this.#ramp = this.#isCalm ? this.#firstStarts : Math.min(this.#ramp + by, this.#bounds.max);
    this.#admit();
  }

  #count(work: number): void {
    const window = this.#window;
    if (!window) return;
    window.work += work;
    window.starts += 1;
    if (window.starts < Math.max(minimumStartsInWindow, startsPerPermit * this.#parallelism.limit)) return;
    const nowMs = this.#clock.monotonic();
    this.#parallelism = nextParallelism(this.#parallelism, { work: window.work, durationMs: nowMs - window.startedAtMs }, this.#bounds);
    this.#window = { startedAtMs: nowMs, work: 0, starts: 0 };
  }
}

/** Restarts, then the more important, then pods that have their sandbox already, then the older pod, then first come, first served. */
function goesBefore(a: Waiter, b: Waiter): boolean {
  if (a.request.restart !== b.request.restart) return a.request.restart;
  if (a.request.priority !== b.request.priority) return a.request.priority > b.request.priority;
  // What began is finished first: otherwise no pod of a burst runs before the last one has its sandbox.
  if (a.request.kind !== b.request.kind) return a.request.kind === 'container';
  if (a.request.podSeenAtMs !== b.request.podSeenAtMs) return a.request.podSeenAtMs < b.request.podSeenAtMs;
  return a.arrival < b.arrival;
}
