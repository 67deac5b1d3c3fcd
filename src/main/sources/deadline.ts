/** Waits that end: by their result, by their time, or because the source is closed. */
import type { Clock } from '../../shared/time/clock.ts';

/** Rejects with `late` after `ms`, or with the signal's reason; what was waited for goes on, and its end is of no interest then. */
export async function withDeadline<T>(running: Promise<T>, ms: number, late: Error, clock: Clock, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  const { promise: ended, reject } = Promise.withResolvers<never>();
  const cancel = clock.after(ms, () => reject(late));
  const abort = () => reject(signal.reason as Error);
  signal.addEventListener('abort', abort);
  try {
    return await Promise.race([running, ended]);
  } finally {
    cancel();
    signal.removeEventListener('abort', abort);
  }
}
