/**
 * Iterates over long lists without blocking the thread: a config map may have a hundred thousand keys, and hundreds of pods share one
 * thread.
 */
import { setImmediate as nextIteration } from 'node:timers/promises';

/** Other pods of the thread wait for so long. An item takes from 20 µs to some milliseconds: a removed folder is slow on some filesystems. */
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
