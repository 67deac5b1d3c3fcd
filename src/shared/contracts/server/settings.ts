/** The server thread: every listener but the healthz port. It renders metrics and health from shared memory, and asks main for the rest. */
import type { MessagePort } from 'node:worker_threads';
import type { ContainerID, PodUID, SandboxID } from '../../kubernetes/ids.ts';
import type { ThreadWorkerData } from '../thread.ts';

export interface ServerWorkerData extends ThreadWorkerData {
  readonly readOnly: ListenAddress | null;
  /** The authenticated server; null: there is none. */
  readonly secure: SecureServerSettings | null;
  /** The last that main handed over; null: none yet. */
  readonly servingCertificate: ServingCertificate | null;
  readonly streaming: StreamingSettings;
  /** Every thread's metrics segment. */
  readonly metricsSegments: readonly SharedArrayBuffer[];
  /** RuntimeSnapshot: which containers run. */
  readonly snapshot: SharedArrayBuffer;
  /** Comlink endpoint of MainApi. */
  readonly main: MessagePort;
}

export interface ListenAddress {
  readonly address: string;
  readonly port: number;
}

/** HTTPS, and who may ask for what there. */
export interface SecureServerSettings {
  readonly listen: ListenAddress;
  /** What a SubjectAccessReview names. */
  readonly nodeName: string;
  /** Of the build, for `/statusz`: `v1.36.3`. */
  readonly version: string;
  readonly tls: TlsSettings;
  readonly authentication: {
    /** Empty: no client certificate is asked for. */
    readonly clientCAFile: string;
    readonly reloadClientCAFile: boolean;
    /** Null: bearer tokens are not looked at. */
    readonly webhook: { readonly cacheTTLMs: number } | null;
    readonly anonymous: boolean;
  };
  /** Null: whoever is authenticated may do all (AlwaysAllow). */
  readonly authorization: { readonly authorizedTTLMs: number; readonly unauthorizedTTLMs: number } | null;
  readonly handlers: HandlerSwitches;
}

export interface TlsSettings {
  /** PEM, the leaf first. Both empty: main hands the certificate over (`ServerApi.setServingCertificate`), and no handshake succeeds before. */
  readonly certFile: string;
  readonly keyFile: string;
  /** Not null: when there are no such files yet, they are written, self-signed, for this host name or IP. */
  readonly selfSignedFor: string | null;
  readonly reload: boolean;
  /** As Node names them: `TLSv1.2`. */
  readonly minVersion: 'TLSv1' | 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3';
  /** OpenSSL's cipher list; empty: Go's defaults. */
  readonly ciphers: string;
  /** OpenSSL's groups; empty: Go's defaults. */
  readonly curves: string;
}

/** Which of the optional handlers are there; `debugging` is over all of them. */
export interface HandlerSwitches {
  readonly debugging: boolean;
  readonly profiling: boolean;
  readonly debugFlags: boolean;
  readonly systemLogs: boolean;
  readonly systemLogQuery: boolean;
  readonly statusz: boolean;
  readonly flagz: boolean;
  readonly checkpoint: boolean;
}

/** Main answers these to the server thread. Bodies are ready to send. What rejects becomes an error of the request. */
export interface MainApi {
  /** A v1 PodList, as JSON. */
  pods(): Promise<string>;
  /** The same of the pods that the runtime runs, whether they are wanted or not. */
  runningPods(): Promise<string>;
  /** `{"kubeletconfig": …}` */
  configz(): Promise<string>;
  /** Every flag by its name with its value. */
  flagz(): Promise<Readonly<Record<string, string>>>;
  /** The answer's `status`. Rejects when the API server did not give one. */
  reviewToken(token: string): Promise<TokenReviewStatus>;
  reviewAccess(spec: SubjectAccessReviewSpec): Promise<SubjectAccessReviewStatus>;
  resolveContainer: ResolveContainer;
  /** The health thread's part of a DELETE of `/metrics/slis`. */
  resetHealthMetrics(): Promise<void>;
}

/** authentication.k8s.io/v1 */
export interface TokenReviewStatus {
  readonly authenticated?: boolean;
  readonly user?: {
    readonly username?: string;
    readonly uid?: string;
    readonly groups?: readonly string[];
    readonly extra?: Readonly<Record<string, readonly string[]>>;
  };
  readonly audiences?: readonly string[];
  readonly error?: string;
}

/** authorization.k8s.io/v1 */
export interface SubjectAccessReviewSpec {
  readonly user: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
  readonly resourceAttributes: {
    readonly verb: string;
    readonly version: string;
    readonly resource: string;
    readonly subresource: string;
    readonly name: string;
  };
}
export interface SubjectAccessReviewStatus {
  readonly allowed?: boolean;
  readonly denied?: boolean;
  readonly reason?: string;
  readonly evaluationError?: string;
}

export interface ServerApi {
  /** Where it listens in truth (port 0 asks for any). */
  addresses(): Promise<ServerAddresses>;
  /** For a certificate that main got from the cluster (`serverTLSBootstrap`). Taken by the next handshake. */
  setServingCertificate(certificate: ServingCertificate): Promise<void>;
  close(): Promise<void>;
}

/** PEM; the leaf first. */
export interface ServingCertificate {
  readonly cert: string;
  readonly key: string;
}

export interface ServerAddresses {
  readonly readOnly: ListenAddress | null;
  readonly secure: ListenAddress | null;
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
  /** The gate ExtendWebSocketsToKubelet: WebSockets that no runtime understands are turned into its SPDY. */
  readonly translateWebSockets: boolean;
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

/** Main's answer, from what it last saw of the pod; it asks the runtime only when that shows no such container (main/server/resolve-container.ts). */
export type ResolveContainer = (query: ContainerQuery) => Promise<ResolvedContainer>;
