/** The last defence of a thread against faults: logs and counts an exception that no handler contained (contain.ts), and lets the thread continue. */
import type { Logger } from '../log/logger.ts';
import { uncaughtFaults } from '../metrics/definitions/faults.ts';
import { monotonicMs } from '../time/clock.ts';
import { faultText } from './contain.ts';

/** Limits the log: a fault that recurs in each event loop iteration must not fill the disk. The metric counts all faults. */
const logLimit = { faults: 20, periodMs: 60_000 };

/** The log fields of an uncaught fault. */
export function faultFields(err: unknown, origin: NodeJS.UncaughtExceptionOrigin): object {
  return { err: faultText(err), origin, stack: err instanceof Error ? err.stack : undefined };
}

/** Call this once per thread, when it has started. A fault before that should end the thread, so that it is restarted. */
export function surviveFaults(logger: Logger, thread: 'main' | 'pod-sync'): void {
  let periodStartMs = -Infinity;
  let faultsInPeriod = 0;
  // This event also has unhandled rejections, as long as no listener for `unhandledRejection` exists.
  process.on('uncaughtException', (err: unknown, origin: NodeJS.UncaughtExceptionOrigin) => {
    uncaughtFaults.inc({ thread });
    const nowMs = monotonicMs();
    if (nowMs - periodStartMs > logLimit.periodMs) [periodStartMs, faultsInPeriod] = [nowMs, 0];
    faultsInPeriod += 1;
    if (faultsInPeriod <= logLimit.faults) logger.error(faultFields(err, origin), 'Uncaught fault, going on');
  });
}
