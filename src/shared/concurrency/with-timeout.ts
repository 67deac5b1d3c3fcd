import { systemClock } from '../time/clock.ts';

/** Resolves when the promise does, or after this long; the promise's work goes on. Rejects when the promise rejects in time. */
export async function withTimeout(ms: number, promise: Promise<void>): Promise<void> {
  const timeout = new AbortController();
  await Promise.race([promise, systemClock.sleep(ms, timeout.signal).catch(() => {})]);
  timeout.abort();
}
