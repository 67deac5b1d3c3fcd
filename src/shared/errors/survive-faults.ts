/** The last line against faults of a thread: an exception that no handler contained (contain.ts) is logged and counted, and the thread goes on. */
import type { Logger } from '../log/logger.ts';
import { uncaughtFaults } from '../metrics/definitions/faults.ts';
import { monotonicMs } from '../time/clock.ts';
import { faultText } from './contain.ts';

/** A fault that comes back with every turn of the loop must not fill the disk. All are counted. */
const logged = { faults: 20, everyMs: 60_000 };

/** What is logged of a fault that nobody caught. */
export function faultFields(err: unknown, origin: NodeJS.UncaughtExceptionOrigin): object {
  return { err: faultText(err), origin, stack: err instanceof Error ? err.stack : undefined };
}

/** Once for this thread, when it has started: one that has not is better ended, and started anew. */
export function surviveFaults(logger: Logger, thread: 'main' | 'pod-sync'): void {
  let periodBeganAtMs = -Infinity;
  let inPeriod = 0;
  // An unhandled rejection comes here too, unless somebody listens for it alone.
  process.on('uncaughtException', (err: unknown, origin: NodeJS.UncaughtExceptionOrigin) => {
    uncaughtFaults.inc({ thread });
    const nowMs = monotonicMs();
    if (nowMs - periodBeganAtMs > logged.everyMs) [periodBeganAtMs, inPeriod] = [nowMs, 0];
    inPeriod += 1;
    if (inPeriod <= logged.faults) logger.error(faultFields(err, origin), 'Uncaught fault, going on');
  });
}
