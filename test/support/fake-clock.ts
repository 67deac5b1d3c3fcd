/** A clock that moves only when a test moves it. */
import type { Clock } from '../../src/shared/time/clock.ts';

interface Alarm {
  readonly at: number;
  readonly ring: () => void;
}

export class FakeClock implements Clock {
  #monotonic = 0;
  readonly #startMs: number;
  /** In the order in which they were set. */
  readonly #alarms = new Set<Alarm>();

  constructor(startMs: number = Date.UTC(2026, 0, 1)) {
    this.#startMs = startMs;
  }

  now(): number {
    return this.#startMs + this.#monotonic;
  }

  monotonic(): number {
    return this.#monotonic;
  }

  after(ms: number, callback: () => void): () => void {
    const alarm = { at: this.#monotonic + ms, ring: callback };
    this.#alarms.add(alarm);
    return () => void this.#alarms.delete(alarm);
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason as Error);
      const cancel = this.after(ms, resolve);
      signal?.addEventListener('abort', () => {
        cancel();
        reject(signal.reason as Error);
      });
    });
  }

  /**
   * Moves time on and rings what is due, in order of its time. Everything runs that is ready to run before the first and after the last;
   * in between promises settle that a ring settles, and a turn of the event loop goes by.
   */
  async advance(ms: number): Promise<void> {
    const end = this.#monotonic + ms;
    await settle();
    for (let next = this.#firstDue(end); next; next = this.#firstDue(end)) {
      this.#alarms.delete(next);
      this.#monotonic = Math.max(this.#monotonic, next.at);
      next.ring();
      await turn();
    }
    this.#monotonic = end;
    await settle();
  }

  /** Of those of one time the one that was set first. */
  #firstDue(end: number): Alarm | undefined {
    let first: Alarm | undefined;
    for (const alarm of this.#alarms) if (alarm.at <= end && (!first || alarm.at < first.at)) first = alarm;
    return first;
  }
}

/** Lets everything run that is ready to run: five turns of the event loop, for what goes on by way of another timer or file. */
export function settle(): Promise<void> {
  return new Promise((resolve) => {
    let turns = 0;
    const count = (): void => {
      turns += 1;
      if (turns === 5) resolve();
      else setImmediate(count);
    };
    setImmediate(count);
  });
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
