/** The server thread: every listener. It renders metrics and health from shared memory, and asks main for the rest. */
import type { MessagePort } from 'node:worker_threads';
import type { ThreadBirth } from './thread.ts';

export interface ServerBirth extends ThreadBirth {
  readonly healthz: ListenAddress | null;
  readonly readOnly: ListenAddress | null;
  /** Every thread's metrics segment. */
  readonly metricsSegments: readonly SharedArrayBuffer[];
  /** Comlink endpoint of ServerUpcalls. */
  readonly main: MessagePort;
}

export interface ListenAddress {
  readonly address: string;
  readonly port: number;
}

/** Main answers these to the server thread. Bodies are ready to send. */
export interface ServerUpcalls {
  /** A v1 PodList, as JSON. */
  pods(): Promise<string>;
  /** `{"kubeletconfig": …}` */
  configz(): Promise<string>;
}

export interface ServerApi {
  /** Where it listens in truth (port 0 asks for any). */
  addresses(): Promise<{ readonly healthz: ListenAddress | null; readonly readOnly: ListenAddress | null }>;
  close(): Promise<void>;
}
