/** A user may have a hundred thousand keys in a config map: who goes through them lets the thread's other pods have their turn in between. */
import { setImmediate as nextIteration } from 'node:timers/promises';

/** Some milliseconds, with a few calls on the node's own files for each. */
const perTurn = 200;

export async function* iterateWithYields<T>(items: Iterable<T>): AsyncGenerator<T> {
  let count = 0;
  for (const item of items) {
    if (count > 0 && count % perTurn === 0) await nextIteration();
    count += 1;
    yield item;
  }
}
