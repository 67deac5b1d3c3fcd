/** Limits how long a caller waits, without failing: for waits that are useful only while they are short. */
import { systemClock, type Clock } from '../time/clock.ts';

/** Resolves when the promise resolves, or after `ms`. Rejects when the promise rejects in time. The work behind the promise continues. */
export async function withTimeout(ms: number, promise: Promise<void>, clock: Pick<Clock, 'sleep'> = systemClock): Promise<void> {
  const timeout = new AbortController();
  await Promise.race([promise, clock.sleep(ms, timeout.signal).catch(() => {})]);
  timeout.abort();
}
