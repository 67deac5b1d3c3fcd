/**
 * Containment of faults: an exception ends the handling of one message, one timer or one pod, and nothing else. Code that calls many handlers (a loop
 * over pods, a thread's messages, a watch's listeners) calls each of them through `contain`, which logs the fault with its stack and counts it. Main
 * also shows the fault in the pod's status (main/pods/workers/pod-faults.ts).
 */
import { messageOf } from '../errors/kubelet-error.ts';
import type { Logger } from '../log/logger.ts';
import { containedFaults } from '../metrics/definitions/faults.ts';

export interface FaultContext {
  /** The handler's name. A metric label, so of low cardinality. */
  readonly handler: string;
  readonly logger: Logger;
  /** Log fields: the object that the handler was called for. */
  readonly fields?: object;
}

/** Returns the result of `work`, or undefined when it throws. */
export function contain<T>(context: FaultContext, work: () => T): T | undefined {
  try {
    return work();
  } catch (err) {
    reportFault(context, err);
    return undefined;
  }
}

/** Logs and counts an exception that the caller has caught and survives. Never throws. */
export function reportFault({ handler, logger, fields }: FaultContext, err: unknown): void {
  containedFaults.inc({ handler });
  logger.error({ ...fields, handler, err: faultText(err), stack: err instanceof Error ? err.stack : undefined }, 'Contained a fault');
}

/** The text of any thrown value. Never throws. */
export function faultText(err: unknown): string {
  try {
    return messageOf(err);
  } catch {
    return 'a fault that has no text';
  }
}
