/**
 * Permits to start a sandbox or a container: starts are let in at the parallelism that the runtime is fastest at, the most important
 * and then the oldest pod first, instead of all at once. What a running pod lost and needs back (a restart) has a lane of its own and
 * never waits behind a burst of new pods; stops need no permit at all.
 */
import { startPermitLimit, startPermitsInUse, startPermitsWaiting } from '../../shared/metrics/definitions/pods.ts';
import {
  boundsFor,
  initialParallelism,
  nextParallelism,
  startWork,
  type ParallelismBounds,
  type StartParallelism,
} from './start-parallelism.ts';
import type { Clock } from '../../shared/time/clock.ts';

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
}

export interface StartPermit {
  /** Gives it back, once: the call ended. */
  release(succeeded: boolean): void;
  /** The sandbox was made, and its place is now that of a container of its pod. */
  passOn(): void;
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

/** Restarts that may run beside a full house; more of them take their turn, before all other starts. */
const restartLane = 2;
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
  #inFlight = 0;
  #inRestartLane = 0;
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
    if (this.#waiting.length > 0 || this.#inFlight >= this.allowed) return null;
    this.#inFlight += 1;
    startPermitsInUse.set(this.inFlight);
    return this.#permit(request, 'common');
  }

  /** Resolves when no start waits or is under way, or the signal aborts. */
  async calm(signal: AbortSignal): Promise<void> {
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
  get inFlight(): number {
    return this.#inFlight + this.#inRestartLane;
  }

  #admit(): void {
    for (let next = this.#waiting[0]; next; next = this.#waiting[0]) {
      const isKept = next.request.kind === 'container' && this.#takeKept();
      const lane = isKept || this.#inFlight < this.allowed ? 'common' : 'restart';
      if (lane === 'restart' && (!next.request.restart || this.#inRestartLane >= restartLane)) break;
      this.#waiting.shift();
      if (lane === 'restart') this.#inRestartLane += 1;
      else if (!isKept) this.#inFlight += 1;
      next.grant(this.#permit(next.request, lane));
    }
    if (this.#waiting.length === 0) this.#window = null;
    // While the ramp is below the limit, it is not the limit that is seen.
    else if (this.#ramp >= this.#parallelism.limit) this.#window ??= { startedAtMs: this.#clock.monotonic(), work: 0, starts: 0 };
    startPermitLimit.set(this.limit);
    startPermitsInUse.set(this.inFlight);
    startPermitsWaiting.set(this.waiting);
    if (this.#isCalm) for (const resolve of this.#calm) resolve();
  }

  #permit(request: StartRequest, lane: 'common' | 'restart'): StartPermit {
    let { kind } = request;
    let released = false;
    return {
      passOn: () => {
        if (released || kind === 'container') return;
        this.#count(startWork.sandbox);
        kind = 'container';
      },
      release: (succeeded) => {
        if (released) return;
        released = true;
        // A start that failed at once would look like a fast one.
        if (succeeded) this.#count(startWork[kind]);
        if (lane === 'restart') this.#inRestartLane -= 1;
        else if (kind === 'sandbox' && succeeded && this.#ramp < this.#parallelism.limit) return this.#keep();
        else this.#inFlight -= 1;
        this.#grow(succeeded && kind === 'container' ? growth.container : growth.other);
      },
    };
  }

  #keep(): void {
    const cancel = this.#clock.after(keptMs, () => {
      this.#kept.delete(cancel);
      this.#inFlight -= 1;
      this.#grow(growth.other);
    });
    this.#kept.add(cancel);
    this.#admit();
  }

  #takeKept(): boolean {
    const [cancel] = this.#kept;
    cancel?.();
    return cancel !== undefined && this.#kept.delete(cancel);
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
