/**
 * Handles exceptions of the main thread that no handler contained (shared/faults/contain.ts). A Go kubelet exits on such a panic, and exits
 * after each restart while its cause, a pod or an object, exists. An exception does not corrupt memory; it leaves one piece of work undone.
 * So a running kubelet continues, logs the fault and counts it in `kubelet_uncaught_faults_total`. When the sync loop does not run any
 * more, `/healthz` fails.
 *
 * A kubelet that has not started yet exits: it may wait for something that never happens, and a restart helps.
 */
import { faultFields, surviveFaults } from '../../shared/faults/survive-faults.ts';
import type { Logger } from '../../shared/log/logger.ts';

/** Go's exit code after a panic. */
const faultExitCode = 2;

export interface UncaughtFaultHandler {
  /** From this call on, a fault does not end the process. */
  keepRunning(): void;
}

/** Must be called once, after the logger is created. */
export function handleUncaughtFaults(logger: Logger): UncaughtFaultHandler {
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
