/** What every thread is born with, beside what its own contract adds. Plain data, shared memory and ports only. */
import type { LoggingOptions } from '../log/logger.ts';

export interface ThreadWorkerData {
  /** `pleg`, `images`, … : the thread's name in logs, metrics and `/healthz`. */
  readonly thread: string;
  readonly logging: LoggingOptions;
  /** Its nice value from when it has loaded. */
  readonly nice: number;
  /** The heartbeat table (shared/state/heartbeats.ts) and this thread's row in it. */
  readonly heartbeats: SharedArrayBuffer;
  readonly heartbeatRow: number;
  /** This thread's own segment of the metrics (shared/metrics/): it outlives the thread, so counters survive a restart. */
  readonly metrics: SharedArrayBuffer;
}
