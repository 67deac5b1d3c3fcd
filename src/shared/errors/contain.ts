/**
 * Containment: an exception costs the message, the timer or the pod that it was thrown for, and nothing else. Whoever calls handlers for
 * many (a loop over pods, the messages of a thread, the listeners of a watch) calls each of them through `contain`. What is contained is
 * logged with its stack and counted; main also tells the pod (main/pods/workers/pod-faults.ts).
 */
import { messageOf } from './kubelet-error.ts';
import type { Logger } from '../log/logger.ts';
import { containedFaults } from '../metrics/definitions/faults.ts';

export interface FaultContext {
  /** The handler's name: a label of the metric, so one of few. */
  readonly handler: string;
  readonly logger: Logger;
  /** For the log: what the handler was called for. */
  readonly fields?: object;
}

/** What the work returns; undefined when it throws. */
export function contain<T>(context: FaultContext, work: () => T): T | undefined {
  try {
    return work();
  } catch (err) {
    reportFault(context, err);
    return undefined;
  }
}

/** Logs and counts an exception that its catcher goes on after. Never throws. */
export function reportFault({ handler, logger, fields }: FaultContext, err: unknown): void {
  containedFaults.inc({ handler });
  logger.error({ ...fields, handler, err: faultText(err), stack: err instanceof Error ? err.stack : undefined }, 'Contained a fault');
}

/** Whatever was thrown. */
export function faultText(err: unknown): string {
  try {
    return messageOf(err);
  } catch {
    return 'a fault that has no text';
  }
}
