/** Time as a dependency: the system's in the daemon, a FakeClock in tests (test/support/fake-clock.ts). */
export interface Clock {
  /** Wall clock, ms since the epoch: for what people and the API see. */
  now(): number;
  /** Monotonic ms, the same origin in every thread of the process: for ages, deadlines and orders. */
  monotonic(): number;
  /** Resolves after `ms`, as `after` does; rejects with the signal's reason when it aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Calls back once after `ms`, however long that is and never sooner by `monotonic`, unless the returned function was called before. */
  after(ms: number, callback: () => void): () => void;
}

/** CLOCK_MONOTONIC in ms, with fractions: comparable between threads. */
export function monotonicMs(): number {
  const [seconds, nanos] = process.hrtime();
  return seconds * 1000 + nanos / 1e6;
}

/** The longest that a timer of Node can be set to: a longer one would ring at once. A grace period may be of months: it is waited for in stages. */
const maxTimerMs = 2 ** 31 - 1;

/** Never too soon, as Node's own timers are by up to a ms: whoever is rung at a time finds that it has come. */
function after(ms: number, callback: () => void): () => void {
  const dueMs = monotonicMs() + ms;
  let timer: NodeJS.Timeout;
  const ring = () => {
    const leftMs = dueMs - monotonicMs();
    if (leftMs > 0) set(leftMs);
    else callback();
  };
  const set = (leftMs: number) => {
    timer = setTimeout(ring, Math.min(leftMs, maxTimerMs));
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
