/** One attempt of a probe's action, and its result (upstream: probe.Result, its output and its error). */
import type { ProbeAction } from '../../../shared/contracts/probes.ts';

export interface AttemptResult {
  readonly outcome: 'success' | 'warning' | 'failure' | 'unknown';
  /** The text of the event: the output, or the error. Upstream's, byte for byte. */
  readonly output: string;
  /** Upstream returns an error: the attempt is repeated, and after the last one its result is discarded. */
  readonly isError?: true;
  /**
   * Why the container may not be the cause of a failure. `time`: a time limit has passed, or the peer closed the connection; a delay of this thread can cause
   * both. `node`: this process lacked resources. Absent: the container, or the kernel on its behalf, has answered.
   */
  readonly doubt?: 'time' | 'node';
}

/** A running attempt. It calls `done` once, unless it is cancelled. */
export interface Attempt {
  /** The probe's timeout has passed, and all input has been read. */
  timeOut(): void;
  cancel(): void;
}

export type OnAttemptDone = (result: AttemptResult) => void;
export type ActionOf<Type extends ProbeAction['type']> = Extract<ProbeAction, { readonly type: Type }>;

export const success: AttemptResult = { outcome: 'success', output: '' };

/** How much of a response's body or of a command's output is read (upstream: maxRespBodyLength, maxReadLength). */
export const maxOutputBytes = 10 * 1024;
