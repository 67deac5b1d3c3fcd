/** The images thread: pulls, the image list, image and container garbage collection. It never touches a running pod. */
import type { MessagePort } from 'node:worker_threads';
import type { Failure } from '../errors/kubelet-error.ts';
import type { ObjectReference } from '../kubernetes/api.ts';
import type { ContainerID, PodUID } from '../kubernetes/ids.ts';
import type { ThreadWorkerData } from './thread.ts';
import type { PullSecret } from './pod-objects.ts';

export interface ImagesWorkerData extends ThreadWorkerData {
  readonly runtimeEndpoint: string;
  readonly imageEndpoint: string;
  readonly runtimeRequestTimeoutMs: number;
  readonly serializeImagePulls: boolean;
  /** Null: as many as ask. */
  readonly maxParallelImagePulls: number | null;
  /** Pulls a second, and how many may come at once; 0: no limit. */
  readonly registryPullQPS: number;
  readonly registryBurst: number;
  readonly podLogsDir: string;
  readonly containerLogsDir: string;
  readonly rootDir: string;
  /** `imagePullCredentialsVerificationPolicy`; null: who may use an image that is there is not asked (gate KubeletEnsureSecretPulledImages). */
  readonly verificationPolicy: { readonly name: string; readonly allowlist: readonly string[] } | null;
  readonly snapshot: SharedArrayBuffer;
  /** RecordedEvent of the requesting container, posted immediately: a pull may take long. */
  readonly events: MessagePort;
}

export interface EnsureImageRequest {
  readonly podUID: PodUID;
  readonly podName: string;
  readonly podNamespace: string;
  readonly containerName: string;
  readonly image: string;
  readonly imagePullPolicy: string;
  readonly runtimeHandler: string;
  readonly podAnnotations: Readonly<Record<string, string>>;
  /** Of the pod, those that there are. */
  readonly pullSecrets: readonly PullSecret[];
  /** The container in its pod: what events are about. Null: nobody could look it up. */
  readonly about: ObjectReference | null;
}

export type EnsureImageResult =
  | { readonly outcome: 'present'; readonly imageRef: string }
  /** Reasons: ErrImagePull, ImagePullBackOff, ErrImageNeverPull, InvalidImageName, ImageInspectError, RegistryUnavailable, SignatureValidationFailed. */
  | { readonly outcome: 'failed'; readonly failure: Failure };

export interface ContainerGcRequest {
  /** Wall-clock ms at which the lists below were made: of what was made later nothing is removed, it may be a pod's that has come since. */
  readonly requestedAtMs: number;
  /** No pod is known to be gone before every source has reported. */
  readonly allSourcesReady: boolean;
  /** Pods whose containers may all go: deleted, or evicted; and pods that main still knows at all. */
  readonly knownPodUIDs: readonly PodUID[];
  readonly removablePodUIDs: readonly PodUID[];
  readonly minAgeMs: number;
  /** Dead containers kept for each (pod, container); −1: no limit. */
  readonly maxPerPodContainer: number;
  /** Dead containers kept in all; −1: no limit. */
  readonly maxContainers: number;
}

export interface ContainerGcReply {
  readonly removedContainers: number;
  readonly removedSandboxes: number;
}

/** An image that the runtime has. */
export interface RuntimeImage {
  readonly id: string;
  readonly repoTags: readonly string[];
  readonly repoDigests: readonly string[];
  readonly sizeBytes: number;
}

export interface ImagesApi {
  /** Waits for a pull that is under way for the same image. Settles always: a failure is a result. */
  ensureImage(request: EnsureImageRequest): Promise<EnsureImageResult>;
  /** In no order. Rejects with the runtime's error. */
  listImages(): Promise<readonly RuntimeImage[]>;
  collectContainers(request: ContainerGcRequest): Promise<ContainerGcReply>;
  /** Removes dead containers by name of the pod's worker; one still running is left. */
  removeContainers(ids: readonly ContainerID[]): Promise<void>;
  close(): Promise<void>;
}
