/**
 * Iterates over long lists without blocking the thread: a config map may have a hundred thousand keys, and hundreds of pods share one
 * thread.
 */
import { setImmediate as nextIteration } from 'node:timers/promises';

/** Takes some milliseconds when each item needs a few calls on the node's own files. */
const itemsPerIteration = 200;

export async function* iterateWithYields<T>(items: Iterable<T>): AsyncGenerator<T> {
  let count = 0;
  for (const item of items) {
    if (count > 0 && count % itemsPerIteration === 0) await nextIteration();
    count += 1;
    yield item;
  }
}
