/**
 * The clock of a modelled node: time passes only in `advance`, and everything that is ready runs before time passes. A life is what dies with a
 * kubelet or a thread: its timers never fire and its calls never end.
 */
import type { Clock } from '../../../src/shared/time/clock.ts';

interface Timer {
  readonly dueMs: number;
  readonly callback: () => void;
}

/** Work continues over some iterations of the event loop: message channels, and syncs that let others go first. */
const iterationsPerStep = 8;

/** Above what a burst needs. A node at rest takes a few steps per second. */
const maxSteps = 3000;

export class ModelClock implements Clock {
  #monotonic = 0;
  readonly #startMs = Date.UTC(2026, 0, 1);
  /** In the order of their creation. */
  readonly #timers = new Set<Timer>();

  now(): number {
    return this.#startMs + this.#monotonic;
  }

  monotonic(): number {
    return this.#monotonic;
  }

  after(ms: number, callback: () => void): () => void {
    const timer = { dueMs: this.#monotonic + Math.max(0, ms), callback };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleepOn(this, ms, signal);
  }

  async advance(ms: number): Promise<void> {
    const endMs = this.#monotonic + ms;
    await settle();
    let steps = 0;
    for (let due = this.#takeDue(endMs); due.length > 0; due = this.#takeDue(endMs)) {
      steps += 1;
      if (steps > maxSteps + ms) throw new Error(`the node never rests: ${steps} steps in ${ms} ms`);
      for (const timer of due) if (this.#timers.delete(timer)) timer.callback();
      await settle();
    }
    this.#monotonic = endMs;
  }

  /** All timers of the earliest due time. */
  #takeDue(endMs: number): readonly Timer[] {
    let firstMs = Infinity;
    for (const { dueMs } of this.#timers) firstMs = Math.min(firstMs, dueMs);
    if (firstMs > endMs) return [];
    this.#monotonic = Math.max(this.#monotonic, firstMs);
    return [...this.#timers].filter(({ dueMs }) => dueMs === firstMs);
  }
}

export class Life {
  isAlive = true;

  end(): void {
    this.isAlive = false;
  }

  /** Settles as `work` does, as long as this life lasts. */
  guard<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      work.then(
        (value) => this.isAlive && resolve(value),
        (err: unknown) => this.isAlive && reject(err as Error),
      );
    });
  }
}

/** The clock as a kubelet sees it. Advances with each reading, as a real clock does: an observation before a change is older than the change. */
export class MortalClock implements Clock {
  readonly #clock: ModelClock;
  readonly #life: Life;
  static #readings = 0;

  constructor(clock: ModelClock, life: Life) {
    this.#clock = clock;
    this.#life = life;
  }

  now(): number {
    return this.#clock.now();
  }

  monotonic(): number {
    MortalClock.#readings += 1;
    return this.#clock.monotonic() + Math.min(MortalClock.#readings * 1e-9, 0.5);
  }

  after(ms: number, callback: () => void): () => void {
    return this.#clock.after(ms, () => {
      if (this.#life.isAlive) callback();
    });
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleepOn(this, ms, signal);
  }
}

/** Also waits for file accesses, which take real time: on a busy disk a sync would be late by minutes of the model's time. */
async function settle(): Promise<void> {
  do {
    for (let left = iterationsPerStep; left > 0; left -= 1) await new Promise((resolve) => setImmediate(resolve));
  } while (process.getActiveResourcesInfo().some((resource) => resource.startsWith('FSReq')));
}

function sleepOn(clock: Pick<Clock, 'after'>, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason as Error);
    const cancel = clock.after(ms, resolve);
    signal?.addEventListener('abort', () => {
      cancel();
      reject(signal.reason as Error);
    });
  });
}
