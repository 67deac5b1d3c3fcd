/** The server thread's worker data and settings. The server thread has every listener except the healthz port. */
import type { MessagePort } from 'node:worker_threads';
import type { ThreadWorkerData } from '../thread-worker-data.ts';

export interface ServerWorkerData extends ThreadWorkerData {
  /** Null: no read-only server. */
  readonly readOnly: ListenAddress | null;
  /** The authenticated server. Null: none. */
  readonly secure: SecureServerSettings | null;
  /** The last certificate from main. Null: none yet. */
  readonly servingCertificate: ServingKeyPair | null;
  readonly streaming: StreamingSettings;
  /** The metrics segments of all threads. */
  readonly metricsSegments: readonly SharedArrayBuffer[];
  /** The gate NativeHistograms. */
  readonly nativeHistograms: boolean;
  /** The runtime snapshot (shared/state/runtime-snapshot.ts): the running containers. */
  readonly snapshot: SharedArrayBuffer;
  /** The tables of usage, storage and claimed volumes (shared/state/), and the node's name in /stats/summary. */
  readonly stats: {
    /** /metrics/cadvisor has the runtime's metrics, unless the runtime has none. */
    readonly fromRuntime: boolean;
    /** The runtime is CRI-O: /metrics/cadvisor has filesystems of containers. */
    readonly hasContainerFilesystems: boolean;
    readonly usage: SharedArrayBuffer;
    readonly storage: SharedArrayBuffer;
    readonly claimedVolumes: SharedArrayBuffer;
    readonly nodeName: string;
    readonly cgroupFsRoot: string;
  };
  /** The table of pod timelines, and the folder of the local socket that serves the commands `kubelet timeline`, `image-gc` and `eviction`. */
  readonly timelines: { readonly table: SharedArrayBuffer; readonly socketDir: string };
  /** The paths of the sockets of the kubelet's gRPC services. Null: the service is disabled. */
  readonly grpcSockets: { readonly pods: string | null; readonly podResources: string };
  /** Comlink endpoint of MainApi (calls.ts). */
  readonly main: MessagePort;
}

export interface ListenAddress {
  readonly address: string;
  readonly port: number;
}

/** The HTTPS server and its authentication and authorization. */
export interface SecureServerSettings {
  readonly listen: ListenAddress;
  /** The name of the resource in a SubjectAccessReview. */
  readonly nodeName: string;
  /** The build's version for `/statusz`: `v1.37.2`. */
  readonly version: string;
  readonly tls: TlsSettings;
  readonly authentication: {
    /** Empty: the server requests no client certificate. */
    readonly clientCAFile: string;
    readonly reloadClientCAFile: boolean;
    /** Null: the server ignores bearer tokens. */
    readonly webhook: { readonly cacheTTLMs: number } | null;
    readonly anonymous: boolean;
  };
  /** Null: every authenticated client may do everything (AlwaysAllow). */
  readonly authorization: { readonly authorizedTTLMs: number; readonly unauthorizedTTLMs: number } | null;
  readonly handlers: HandlerSwitches;
}

export interface TlsSettings {
  /** Paths of PEM files, the leaf first. Both empty: main sets the certificate (`ServerApi.setServingCertificate`), and handshakes fail until then. */
  readonly certFile: string;
  readonly keyFile: string;
  /** A host name or IP. When the files do not exist, the server writes a self-signed certificate for this name. Null: it does not. */
  readonly selfSignedFor: string | null;
  readonly reload: boolean;
  /** In Node's spelling: `TLSv1.2`. */
  readonly minVersion: 'TLSv1' | 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3';
  /** OpenSSL's cipher list. Empty: Go's defaults. */
  readonly ciphers: string;
  /** OpenSSL's groups. Empty: Go's defaults. */
  readonly curves: string;
}

/** Which optional handlers are enabled. `debugging` is required for all of them. */
export interface HandlerSwitches {
  readonly debugging: boolean;
  readonly profiling: boolean;
  readonly debugFlags: boolean;
  readonly systemLogs: boolean;
  readonly systemLogQuery: boolean;
  readonly statusz: boolean;
  readonly flagz: boolean;
  readonly checkpoint: boolean;
  /** The gate KubeletAllocatedPodsEndpoint. */
  readonly allocatedPods: boolean;
}

/** The part of the configuration that logs and streams need. */
export interface StreamingSettings {
  readonly runtimeEndpoint: string;
  readonly runtimeRequestTimeoutMs: number;
  /** The server reads container logs only below this directory. */
  readonly podLogsDir: string;
  /** `<rootDir>/checkpoints`: the directory for the runtime's container checkpoints. */
  readonly checkpointsDir: string;
  /** Limit for a stream without a byte in either direction (`streamingConnectionIdleTimeout`). 0: no limit. */
  readonly streamingIdleTimeoutMs: number;
  /** The gate PodLogsQuerySplitStreams: a client may request stdout or stderr alone. */
  readonly splitLogStreams: boolean;
  /** The gate ExtendWebSocketsToKubelet: the server translates WebSockets, which no runtime supports, to SPDY. */
  readonly translateWebSockets: boolean;
}

/** PEM, the leaf first. */
export interface ServingKeyPair {
  readonly cert: string;
  readonly key: string;
}
