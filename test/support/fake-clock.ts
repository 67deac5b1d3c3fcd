/** A clock that moves only when a test moves it. */
import type { Clock } from '../../src/shared/time/clock.ts';

interface Alarm {
  readonly at: number;
  readonly ring: () => void;
}

export class FakeClock implements Clock {
  #monotonic = 0;
  readonly #startMs: number;
  #alarms: Alarm[] = [];

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
    this.#alarms.push(alarm);
    return () => {
      this.#alarms = this.#alarms.filter((other) => other !== alarm);
    };
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

  /** Moves time on and rings what is due, in order of its time; lets promises that this settles run in between. */
  async advance(ms: number): Promise<void> {
    const end = this.#monotonic + ms;
    for (;;) {
      await settle();
      const next = this.#alarms.filter((alarm) => alarm.at <= end).sort((a, b) => a.at - b.at)[0];
      if (!next) break;
      this.#alarms = this.#alarms.filter((other) => other !== next);
      this.#monotonic = Math.max(this.#monotonic, next.at);
      next.ring();
    }
    this.#monotonic = end;
    await settle();
  }
}

/** Lets everything run that is ready to run: five turns of the event loop, for what goes on by way of another timer or file. */
export function settle(): Promise<void> {
  return new Promise((resolve) => {
    let turns = 0;
    const turn = (): void => {
      turns += 1;
      if (turns === 5) resolve();
      else setImmediate(turn);
    };
    setImmediate(turn);
  });
}
