/**
 * The last line against faults: an exception of the main thread that no handler contained (shared/faults/contain.ts). A Go kubelet ends by
 * such a panic, and ends again after each start while its cause, a pod or an object, is still there. An exception here leaves no memory
 * behind that can't be trusted; what it leaves is one piece of work undone. So a kubelet that runs goes on, and says so in its log and in
 * `kubelet_uncaught_faults_total`. When the sync loop itself stands still, `/healthz` fails as ever.
 *
 * A kubelet that has not started yet ends: what it waits for may never come, and a new start is the cure.
 */
import { faultText } from '../../shared/faults/contain.ts';
import type { Logger } from '../../shared/log/logger.ts';
import { uncaughtFaults } from '../../shared/metrics/definitions/faults.ts';
import { monotonicMs } from '../../shared/time/clock.ts';

/** The exit code of a program that fell over, as Go's is after a panic. */
const faultExitCode = 2;
/** A fault that comes back with every turn of the loop must not fill the disk. All are counted. */
const logged = { faults: 20, everyMs: 60_000 };

export interface FaultPolicy {
  /** From now on a fault does not end the process. */
  keepRunning(): void;
}

/** Once, when there is a log. */
export function handleUncaughtFaults(logger: Logger): FaultPolicy {
  let isRunning = false;
  let periodBeganAtMs = -Infinity;
  let inPeriod = 0;
  // An unhandled rejection comes here too, unless somebody listens for it alone.
  process.on('uncaughtException', (err: unknown, origin: NodeJS.UncaughtExceptionOrigin) => {
    const fields = { err: faultText(err), origin, stack: err instanceof Error ? err.stack : undefined };
    if (!isRunning) {
      logger.fatal(fields, 'Uncaught fault, exiting');
      process.exit(faultExitCode);
    }
    uncaughtFaults.inc({ origin });
    const nowMs = monotonicMs();
    if (nowMs - periodBeganAtMs > logged.everyMs) [periodBeganAtMs, inPeriod] = [nowMs, 0];
    inPeriod += 1;
    if (inPeriod <= logged.faults) logger.error(fields, 'Uncaught fault, going on');
  });
  return {
    keepRunning: () => {
      isRunning = true;
    },
  };
}
