/** The worker data of every thread; each contract extends it. Plain data, shared memory and ports only. */
import type { LoggingOptions } from '../log/logger.ts';
import type { TracingSettings } from '../tracing/index.ts';

export interface ThreadWorkerData {
  /** The thread's name in logs, metrics and `/healthz`: `pleg`, `images`, … */
  readonly thread: string;
  readonly logging: LoggingOptions;
  /** Null: the thread sends no spans. */
  readonly tracing: TracingSettings | null;
  /** The thread's nice value once it has loaded. */
  readonly nice: number;
  /** The heartbeat table (shared/state/heartbeats.ts) and this thread's row in it. */
  readonly heartbeats: SharedArrayBuffer;
  readonly heartbeatRow: number;
  /** The thread's segment of the metrics (shared/metrics/). The segment outlives the thread, so counters survive a restart. */
  readonly metrics: SharedArrayBuffer;
}
