/** The health thread: the healthz port, apart from the server thread, so that no client of the other servers can make it fail. */
import type { ListenAddress } from './server/settings.ts';
import type { ThreadWorkerData } from './thread.ts';

export interface HealthWorkerData extends ThreadWorkerData {
  readonly listen: ListenAddress;
}

export interface HealthApi {
  /** Where it listens in truth (port 0 asks for any); null: it could not yet. */
  address(): Promise<ListenAddress | null>;
  /** Its part of a DELETE of `/metrics/slis`. */
  resetMetrics(): Promise<void>;
  close(): Promise<void>;
}
