/** Time as a dependency: the system's clock in the kubelet, a FakeClock in tests (test/support/fake-clock.ts). */
export interface Clock {
  /** Wall-clock ms since the epoch, for timestamps in the API and in logs. */
  now(): number;
  /** Monotonic ms with the same origin in all threads of the process, for durations, deadlines and ordering. */
  monotonic(): number;
  /** Resolves after `ms`, with the precision of `after`. Rejects with the signal's reason if the signal aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Calls back once after `ms`, of any length, and never early by `monotonic`. Call the result to cancel. */
  after(ms: number, callback: () => void): () => void;
}

/** CLOCK_MONOTONIC in ms, with fractions. Comparable between threads. */
export function monotonicMs(): number {
  const [seconds, nanos] = process.hrtime();
  return seconds * 1000 + nanos / 1e6;
}

/** The maximum delay of a Node timer; a longer one fires immediately. Longer delays, such as a grace period of months, take several timers. */
const maxTimerMs = 2 ** 31 - 1;

/** Never calls back early. Node's own timers may fire up to a millisecond early. */
function after(ms: number, callback: () => void): () => void {
  const dueMs = monotonicMs() + ms;
  let timer: NodeJS.Timeout;
  const onTimer = () => {
    const leftMs = dueMs - monotonicMs();
    if (leftMs > 0) set(leftMs);
    else callback();
  };
  const set = (leftMs: number) => {
    timer = setTimeout(onTimer, Math.min(leftMs, maxTimerMs));
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
      const onAbort = () => {
        cancel();
        reject(signal?.reason as Error);
      };
      const cancel = after(ms, () => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      });
      signal?.addEventListener('abort', onAbort, { once: true });
    }),
  after,
};
