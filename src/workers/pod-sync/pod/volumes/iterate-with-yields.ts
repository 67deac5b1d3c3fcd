/**
 * Iterates over long lists without blocking the thread: a config map may have a hundred thousand keys, and hundreds of pods share one
 * thread.
 */
import { setImmediate as nextIteration } from 'node:timers/promises';

/** After this time, the thread continues with other pods. An item takes from 20 µs to some milliseconds: some filesystems remove a folder slowly. */
const maxBlockedMs = 5;

export async function* iterateWithYields<T>(items: Iterable<T>): AsyncGenerator<T> {
  let resumedAtMs = performance.now();
  for (const item of items) {
    if (performance.now() - resumedAtMs > maxBlockedMs) {
      await nextIteration();
      resumedAtMs = performance.now();
    }
    yield item;
  }
}
