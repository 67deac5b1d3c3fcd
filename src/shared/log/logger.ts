/** The type of the logger in every part: pino's. `createLogger` (create-logger.ts) creates one per thread. */
import type { Logger as PinoLogger } from 'pino';

export type Logger = PinoLogger;

/** The logging configuration: plain data, part of every thread's worker data. */
export interface LoggingOptions {
  readonly format: 'text' | 'json';
  /** klog's -v. 0 to 3: info and above; 4 and 5: debug (each relist, each call); from 6: trace. */
  readonly verbosity: number;
  /** klog's --vmodule: the verbosity of the components whose name matches the pattern (`*` and `?`). */
  readonly vmodule: readonly { readonly pattern: string; readonly verbosity: number }[];
  /** Alpha in upstream: errors go to stderr and all other lines to stdout. By default all lines go to stderr. */
  readonly splitStream?: boolean;
  /** The descriptors that are streams of systemd's journal (journal-priority.ts). Absent: none. */
  readonly journalStreams?: readonly number[];
  /** The cell of live-verbosity.ts. Absent: the verbosity cannot change while the kubelet runs. */
  readonly live?: SharedArrayBuffer;
}
