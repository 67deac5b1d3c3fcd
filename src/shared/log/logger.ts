/** The logger that every part gets: pino's, as a type. Made once a thread by `createLogger` (create-logger.ts). */
import type { Logger as PinoLogger } from 'pino';

export type Logger = PinoLogger;

/** What decides how and what is logged; plain data, handed to every thread at birth. */
export interface LoggingOptions {
  readonly format: 'text' | 'json';
  /** klog's -v. 0 to 3: info and above; 4 and 5: debug (each relist, each call); from 6: trace. */
  readonly verbosity: number;
  /** klog's --vmodule: a verbosity of its own for the components whose name matches the pattern (`*` and `?`). */
  readonly vmodule: readonly { readonly pattern: string; readonly verbosity: number }[];
  /** Alpha upstream: errors go to stderr and everything else to stdout, instead of all to stderr. */
  readonly splitStream?: boolean;
  /** Where the verbosity may change while the kubelet runs: the cell of live-verbosity.ts. */
  readonly live?: SharedArrayBuffer;
}
