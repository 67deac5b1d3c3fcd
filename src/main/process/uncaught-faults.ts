/**
 * What becomes of an exception of the main thread that no handler contained (shared/errors/contain.ts). A Go kubelet ends by such a panic, and
 * ends again after each start while its cause, a pod or an object, is still there. An exception here leaves no memory behind that can't be
 * trusted; what it leaves is one piece of work undone. So a kubelet that runs goes on, and says so in its log and in
 * `kubelet_uncaught_faults_total`. When the sync loop itself stands still, `/healthz` fails as ever.
 *
 * A kubelet that has not started yet ends: what it waits for may never come, and a new start is the cure.
 */
import { faultFields, surviveFaults } from '../../shared/errors/survive-faults.ts';
import type { Logger } from '../../shared/log/logger.ts';

/** The exit code of a program that fell over, as Go's is after a panic. */
const faultExitCode = 2;

export interface FaultPolicy {
  /** From now on a fault does not end the process. */
  keepRunning(): void;
}

/** Once, when there is a log. */
export function handleUncaughtFaults(logger: Logger): FaultPolicy {
  const exit = (err: unknown, origin: NodeJS.UncaughtExceptionOrigin): void => {
    logger.fatal(faultFields(err, origin), 'Uncaught fault, exiting');
    process.exit(faultExitCode);
  };
  process.on('uncaughtException', exit);
  return {
    keepRunning: () => {
      surviveFaults(logger, 'main');
      process.off('uncaughtException', exit);
    },
  };
}
