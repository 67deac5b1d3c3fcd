/** The health thread serves the healthz port. It is not part of the server thread, so that no client of the other servers can make it fail. */
import type { ListenAddress } from './server/settings.ts';
import type { ThreadWorkerData } from './thread-worker-data.ts';

export interface HealthWorkerData extends ThreadWorkerData {
  readonly listen: ListenAddress;
}

export interface HealthApi {
  /** The actual address (port 0 in the settings chooses any free port). Null: the thread could not listen yet. */
  address(): Promise<ListenAddress | null>;
  /** Resets the thread's metrics, for a DELETE of `/metrics/slis`. */
  resetMetrics(): Promise<void>;
  close(): Promise<void>;
}
