/** Time as a dependency: the system's in the daemon, a FakeClock in tests (test/support/fake-clock.ts). */
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

/** The longest that a timer of Node can be set to: a longer one would ring at once. A grace period may be of months. */
const maxTimerMs = 2 ** 31 - 1;

function after(ms: number, callback: () => void): () => void {
  let timer: NodeJS.Timeout;
  const set = (leftMs: number) => {
    timer = leftMs > maxTimerMs ? setTimeout(() => set(leftMs - maxTimerMs), maxTimerMs) : setTimeout(callback, leftMs);
  };
  set(ms);
  return () => clearTimeout(timer);
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: monotonicMs,
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason as Error);
      const wake = () => {
        cancel();
        reject(signal?.reason as Error);
      };
      const cancel = after(ms, () => {
        signal?.removeEventListener('abort', wake);
        resolve();
      });
      signal?.addEventListener('abort', wake, { once: true });
    }),
  after,
};
