/** What ends the kubelet from outside. */
import type { Logger } from '../../shared/log/logger.ts';

/** Stopping takes 5 s at most (stop-order.ts keeps within it); what hangs in the kernel then, a folder on a dead server, is not waited for. */
const stopDeadlineMs = 5000;

export interface StopSignal {
  readonly signal: AbortSignal;
  /** Stops the kubelet as SIGTERM does. */
  readonly stop: (reason: string) => void;
  /** Gives the signals back to the process. */
  readonly release: () => void;
}

/** SIGTERM and SIGINT stop the kubelet in order; a second one ends it at once, with exit code 1. */
export function handleSignals(logger: Logger): StopSignal {
  const controller = new AbortController();
  let deadline: NodeJS.Timeout | undefined;
  const stop = (reason: string): void => {
    if (controller.signal.aborted) return;
    logger.info({ reason }, 'Stopping');
    deadline = setTimeout(() => {
      logger.error({ reason, afterMs: stopDeadlineMs }, 'Could not stop in time: exiting all the same');
      process.exit(1);
    }, stopDeadlineMs).unref();
    controller.abort(new Error(`the kubelet was told to stop: ${reason}`));
  };
  const onSignal = (name: NodeJS.Signals): void => {
    if (controller.signal.aborted) {
      logger.warn({ signal: name }, 'Told to stop a second time: exiting at once');
      process.exit(1);
    }
    stop(name);
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
  return {
    signal: controller.signal,
    stop,
    release: () => {
      clearTimeout(deadline);
      process.off('SIGTERM', onSignal);
      process.off('SIGINT', onSignal);
    },
  };
}
