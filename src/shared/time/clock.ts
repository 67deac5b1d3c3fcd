/** Time as a dependency: the system's in the daemon, a FakeClock in tests (test/support/fake-clock.ts). */
import { setTimeout as sleep } from 'node:timers/promises';

export interface Clock {
  /** Wall clock, ms since the epoch: for what people and the API see. */
  now(): number;
  /** Monotonic ms, the same origin in every thread of the process: for ages, deadlines and orders. */
  monotonic(): number;
  /** Resolves after `ms`; rejects with the signal's reason when it aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Calls back once after `ms`, unless the returned function was called before. */
  after(ms: number, callback: () => void): () => void;
}

/** CLOCK_MONOTONIC in ms, with fractions: comparable between threads. */
export function monotonicMs(): number {
  const [seconds, nanos] = process.hrtime();
  return seconds * 1000 + nanos / 1e6;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: monotonicMs,
  sleep: async (ms, signal) => {
    await sleep(ms, undefined, signal ? { signal } : {});
  },
  after: (ms, callback) => {
    const timer = setTimeout(callback, ms);
    return () => clearTimeout(timer);
  },
};
