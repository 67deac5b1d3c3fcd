/** The calls between main and the server thread, in both directions. The server thread renders metrics and health itself, from shared memory. */
import type { MetricsFormat } from '../../metrics/exposition/negotiate.ts';
import type { ContainerID, PodUID, SandboxID } from '../../kubernetes/ids.ts';
import type { AllocatableResourcesResponse, PodResources } from '../../pod-resources/generated/podresources-v1.ts';
import type { EvictionSignal } from '../eviction.ts';
import type { PodChanges, PodListItems, PodListName } from './pods.ts';
import type { ListenAddress, ServingKeyPair } from './settings.ts';

/** Main to server, over Comlink. */
export interface ServerApi {
  /** The actual addresses (port 0 in the settings chooses any free port). */
  addresses(): Promise<ServerAddresses>;
  /** Sets a certificate that main got from the cluster (`serverTLSBootstrap`). The next handshake uses it. */
  setServingCertificate(certificate: ServingKeyPair): Promise<void>;
  close(): Promise<void>;
}

export interface ServerAddresses {
  readonly readOnly: ListenAddress | null;
  readonly secure: ListenAddress | null;
}

/** Server to main, over Comlink. Bodies are ready to send. A rejection becomes an error response of the HTTP request. */
export interface MainApi {
  /**
   * The UIDs of the pods of a list. `pods`: the pods of the sources. `runningPods`: the pods that the runtime runs, whether a source has them or not.
   * `allocatedPods`: the admitted pods.
   */
  podListUIDs(list: PodListName): Promise<readonly PodUID[]>;
  /** The items of the first of these pods, about half a megabyte. The bytes are transferred. */
  podListItems(list: PodListName, uids: readonly PodUID[]): Promise<PodListItems>;
  /** An admitted pod with its allocated resources, as JSON. Null: no admitted pod has this namespace, name and UID. */
  allocatedPod(query: AllocatedPodQuery): Promise<string | null>;
  /** What the collection of images would do now: an ImageGcPlan, as JSON. */
  imageGcPlan(): Promise<string>;
  /** What the eviction manager would do now: an EvictionPlan, as JSON. The signal chooses the ranking of its pods. */
  evictionPlan(signal: EvictionSignal | null): Promise<string>;
  /** `{"kubeletconfig": …}` */
  configz(): Promise<string>;
  /** Every flag's value, by the flag's name. */
  flagz(): Promise<Readonly<Record<string, string>>>;
  /** Resolves with the review's `status`. Rejects when the API server returned none. */
  reviewToken(token: string): Promise<TokenReviewStatus>;
  reviewAccess(spec: SubjectAccessReviewSpec): Promise<SubjectAccessReviewStatus>;
  resolveContainer: ResolveContainer;
  /** The probes thread's part of `/metrics/probes`. The bytes are transferred. */
  probeMetrics(format: MetricsFormat): Promise<Uint8Array>;
  /** The runtime's metrics of containers, for `/metrics/cadvisor`. Undefined: it has none. The bytes are transferred. */
  runtimeMetrics(format: MetricsFormat): Promise<Uint8Array | undefined>;
  /** Resolves when pods have changed since the reply with this cursor, or after some seconds without a change. Null: starts with all pods. */
  podChanges(cursor: number | null): Promise<PodChanges>;
  /** The pods of the PodResources API's List, in its version. */
  listPodResources(version: 'v1' | 'v1alpha1'): Promise<readonly PodResources[]>;
  /** Undefined: the node has no such pod, or the pod has ended. */
  getPodResources(namespace: string, name: string): Promise<PodResources | undefined>;
  allocatableResources(): Promise<AllocatableResourcesResponse>;
  /** Resets the health thread's metrics, for a DELETE of `/metrics/slis`. */
  resetHealthMetrics(): Promise<void>;
}

export interface AllocatedPodQuery {
  readonly namespace: string;
  readonly name: string;
  readonly uid?: string;
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

/** The container of a request (for a port forward: the sandbox), as the request's path and query name it. */
export interface ContainerQuery {
  readonly purpose: 'logs' | 'exec' | 'attach' | 'run' | 'checkpoint' | 'portForward';
  readonly namespace: string;
  /** The pod's name. */
  readonly pod: string;
  /** The UID, if the path has one. Empty or absent: any pod of that name. */
  readonly podUID?: string;
  /** Absent for a port forward. */
  readonly container?: string;
  /** Requests the logs of the previous attempt. */
  readonly previous?: boolean;
}

export type ResolvedContainer =
  | {
      readonly found: true;
      readonly podUID: PodUID;
      /** Empty for the logs of a container whose sandbox is gone. */
      readonly sandboxID: SandboxID | '';
      /** Empty for a port forward. */
      readonly containerID: ContainerID | '';
      /** The runtime's log path. Empty: the container has no log file. */
      readonly logPath: string;
      /** The container's `tty` in the pod spec: attach uses the terminal that the container was started with. */
      readonly tty: boolean;
    }
  | { readonly found: false; readonly status: 400 | 404 | 500; readonly message: string };

/** Answers from main's last status of the pod. Main asks the runtime only when that status has no such container (main/server/resolve-container.ts). */
export type ResolveContainer = (query: ContainerQuery) => Promise<ResolvedContainer>;
