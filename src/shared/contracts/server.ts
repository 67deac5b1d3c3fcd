/** The server thread: every listener. It renders metrics and health from shared memory, and asks main for the rest. */
import type { MessagePort } from 'node:worker_threads';
import type { ContainerID, PodUID, SandboxID } from '../kubernetes/ids.ts';
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

/** The part of the configuration that logs and streams need. */
export interface StreamingSettings {
  readonly runtimeEndpoint: string;
  readonly runtimeRequestTimeoutMs: number;
  /** Every log that is shown lies below it. */
  readonly podLogsDir: string;
  /** `<rootDir>/checkpoints`: where the runtime puts a container's checkpoint. */
  readonly checkpointsDir: string;
  /** Of a stream on which no byte goes either way (`streamingConnectionIdleTimeout`); 0: it may idle for ever. */
  readonly streamingIdleTimeoutMs: number;
  /** The gate PodLogsQuerySplitStreams: a client may ask for stdout or stderr alone. */
  readonly splitLogStreams: boolean;
}

/** Which container, or for a port forward which sandbox, a request is about, as its path and query name it. */
export interface ContainerQuery {
  readonly purpose: 'logs' | 'exec' | 'attach' | 'run' | 'checkpoint' | 'portForward';
  readonly namespace: string;
  /** The pod's name. */
  readonly pod: string;
  /** Where the path has it; empty or absent: any pod of that name. */
  readonly podUID?: string;
  /** Absent for a port forward. */
  readonly container?: string;
  /** Logs of the attempt before. */
  readonly previous?: boolean;
}

export type ResolvedContainer =
  | {
      readonly found: true;
      readonly podUID: PodUID;
      /** Empty for logs whose container has lost its sandbox. */
      readonly sandboxID: SandboxID | '';
      /** Empty for a port forward. */
      readonly containerID: ContainerID | '';
      /** As the runtime gave it; empty: the container has no log file. */
      readonly logPath: string;
      /** What the pod's spec says: an attach has the terminal that its container was started with. */
      readonly tty: boolean;
    }
  | { readonly found: false; readonly status: 400 | 404 | 500; readonly message: string };

/** Main's answer, from what it last saw of the pod; it asks the runtime only when that shows no such container (main/pods/resolve-container.ts). */
export type ResolveContainer = (query: ContainerQuery) => Promise<ResolvedContainer>;
