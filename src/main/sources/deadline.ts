/** Bounds the waits of the manifest sources: a file system or a pool thread may never answer. */
import type { Clock } from '../../shared/time/clock.ts';

/** Settles as the promise does. Rejects with `late` after `ms`, or with the signal's reason. The promise's work goes on. */
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
