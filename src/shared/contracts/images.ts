/**
 * The images thread: image pulls, the image list, garbage collection of images and containers, and the rotation of container logs. The thread
 * changes nothing of a running pod, except for the names of its logs.
 */
import type { MessagePort } from 'node:worker_threads';
import type { Failure } from '../errors/kubelet-error.ts';
import type { ObjectReference } from '../kubernetes/api.ts';
import type { ContainerID, PodUID } from '../kubernetes/ids.ts';
import type { CredentialProvider } from './credential-providers.ts';
import type { RecordedEvent } from './event.ts';
import type { ThreadWorkerData } from './thread-worker-data.ts';
import type { Credential } from '../registry-credentials/keyring.ts';

export interface ImagesWorkerData extends ThreadWorkerData {
  readonly runtimeEndpoint: string;
  readonly imageEndpoint: string;
  readonly runtimeRequestTimeoutMs: number;
  readonly serializeImagePulls: boolean;
  /** Null: no limit. */
  readonly maxParallelImagePulls: number | null;
  readonly podLogsDir: string;
  readonly containerLogsDir: string;
  readonly rootDir: string;
  /** `imagePullCredentialsVerificationPolicy`. Null: no verification of access to present images (gate KubeletEnsureSecretPulledImages is off). */
  readonly verificationPolicy: { readonly name: string; readonly allowlist: readonly string[] } | null;
  /** The plugins for image credentials. */
  readonly credentialProviders: readonly CredentialProvider[];
  /** Gate RuntimeClassInImageCriApi: an image is identified by its ID and the handler that pulled it. */
  readonly byRuntimeHandler: boolean;
  readonly live: LiveImagesSettings;
  /** Gate KubeletSeparateDiskGC. */
  readonly splitDisks: boolean;
  readonly snapshot: SharedArrayBuffer;
  /** The usage table (shared/state/usage-table.ts): the images thread writes its filesystems. */
  readonly usage: SharedArrayBuffer;
  /** PullTokensApi, over Comlink. */
  readonly main: MessagePort;
  /** Posts ImagesNotification. An event is posted immediately, and not with the reply, because a pull may take long. */
  readonly events: MessagePort;
}

export interface ImageGcPolicy {
  /** The usage of the image filesystem from which images are removed. 100 without a maximum age: never. */
  readonly highThresholdPercent: number;
  /** Images are removed until the usage is this low. */
  readonly lowThresholdPercent: number;
  /** The age, since its detection, below which an image is kept. */
  readonly minAgeMs: number;
  /** The time without a use after which an image is removed, whatever the usage. 0: never. */
  readonly maxAgeMs: number;
}

/** The settings that change while the thread runs. */
export interface LiveImagesSettings {
  /** Pulls per second, and the size of a burst. A rate of 0 means no limit. */
  readonly registryPullQPS: number;
  readonly registryBurst: number;
  readonly imageGc: ImageGcPolicy;
  /** Null: container logs are not rotated (a negative containerLogMaxSize). */
  readonly logRotation: LogRotationPolicy | null;
}

/** `containerLogMaxSize`, `containerLogMaxFiles` (at least 2), `containerLogMaxWorkers` and `containerLogMonitorInterval`. */
export interface LogRotationPolicy {
  readonly maxSizeBytes: number;
  readonly maxFiles: number;
  readonly maxWorkers: number;
  readonly monitorIntervalMs: number;
}

/** Reports to the pod's timeline that the pull for a container waits, or begins. */
export interface PullWait {
  readonly podUID: PodUID;
  readonly containerName: string;
  /** Null: the pull begins. */
  readonly wait: 'PullQueue' | 'SharedPull' | null;
  /** Monotonic ms. */
  readonly atMs: number;
}

export type ImagesNotification = RecordedEvent | { readonly pullWait: PullWait };

/** What the pull secrets of a pod, as far as they exist, have for one image. */
export interface PullCredentials {
  /** In the order in which a pull tries them. */
  readonly credentials: readonly Credential[];
  /** Why the secrets cannot be used. The request fails with this problem when it needs the credentials. Null: none. */
  readonly problem: string | null;
}

export interface EnsureImageRequest {
  readonly podUID: PodUID;
  readonly podName: string;
  readonly podNamespace: string;
  /** Empty: none, as for static pods. */
  readonly serviceAccountName: string;
  readonly containerName: string;
  readonly image: string;
  readonly imagePullPolicy: string;
  readonly runtimeHandler: string;
  readonly podAnnotations: Readonly<Record<string, string>>;
  readonly pullCredentials: PullCredentials;
  /** The container in its pod, for events. Null: unknown. */
  readonly about: ObjectReference | null;
  /** The span of the pod's sync. Absent without tracing. */
  readonly traceParent?: string | undefined;
}

export type EnsureImageResult =
  /** `pulledBytes`: the size of the image when this request pulled it, alone or with others. */
  | { readonly outcome: 'present'; readonly imageRef: string; readonly pulledBytes?: number }
  /** Reasons: ErrImagePull, ImagePullBackOff, ErrImageNeverPull, InvalidImageName, ImageInspectError, RegistryUnavailable, SignatureValidationFailed. */
  | { readonly outcome: 'failed'; readonly failure: Failure };

export interface ContainerGcRequest {
  /** Wall-clock ms at which the lists below were made. Nothing created later is removed: it may belong to a newer pod. */
  readonly requestedAtMs: number;
  /** While false, the thread treats no unknown pod as deleted. */
  readonly allSourcesReady: boolean;
  /** The pods that main knows. */
  readonly knownPodUIDs: readonly PodUID[];
  /** The known pods of which all dead containers may be removed: deleted or evicted. */
  readonly removablePodUIDs: readonly PodUID[];
  /** The known pods that have terminated: their dead containers and sandboxes are removed too, but not their logs. Absent: these pods keep the newest. */
  readonly terminatedPodUIDs?: readonly PodUID[];
  readonly minAgeMs: number;
  /** Dead containers to keep for each container of a pod. −1: no limit. */
  readonly maxPerPodContainer: number;
  /** Dead containers to keep in total. −1: no limit. */
  readonly maxContainers: number;
}

export interface ContainerGcReply {
  readonly removedContainers: number;
  readonly removedSandboxes: number;
}

/** The images that main's pods need, in addition to those of the runtime's containers. */
export interface NeededImages {
  /** Monotonic ms at which main listed them. */
  readonly listedAtMs: number;
  /** Image names, as pod specs have them. */
  readonly names: readonly string[];
  /** The runtime's references of images: those of containers, and those of images that are mounted as volumes. */
  readonly ids: readonly string[];
}

export interface ImageGcReply {
  readonly removedImages: number;
  readonly freedBytes: number;
  /** Reasons: FreeDiskSpaceFailed, InvalidDiskCapacity, ImageGCFailed. */
  readonly failure: Failure | null;
}

/** What a collection of images would do now. */
export interface ImageGcPlan extends ImageGcPolicy {
  readonly capacityBytes: number;
  readonly availableBytes: number;
  /** Null: the capacity is unknown. */
  readonly usagePercent: number | null;
  /** 0: the usage is below the high threshold. */
  readonly toFreeBytes: number;
  /** First the images that may be removed, in the order of their removal. */
  readonly images: readonly {
    readonly id: string;
    readonly names: readonly string[];
    readonly sizeBytes: number;
    /** Both times are RFC 3339. Null: never since the records began. */
    readonly firstDetected: string | null;
    readonly lastUsed: string | null;
    readonly remove: boolean;
    /** Why the image is removed (age, space), or stays. */
    readonly reason: string;
  }[];
}

/** An image in the runtime. */
export interface RuntimeImage {
  readonly id: string;
  readonly repoTags: readonly string[];
  readonly repoDigests: readonly string[];
  readonly sizeBytes: number;
}

export interface ImagesApi {
  /** Pulls the image if necessary, or waits for a running pull of the same image. Never rejects: a failure is a result. */
  ensureImage(request: EnsureImageRequest): Promise<EnsureImageResult>;
  /** In no particular order. Rejects with the runtime's error. */
  listImages(): Promise<readonly RuntimeImage[]>;
  /** Applies the policy of image garbage collection. Never rejects. */
  collectImages(needed: NeededImages): Promise<ImageGcReply>;
  /** Removes every unused image above the minimum age. Never rejects. */
  deleteUnusedImages(needed: NeededImages): Promise<ImageGcReply>;
  /** Returns an ImageGcPlan as JSON, which main only passes on. Removes nothing. Rejects when the runtime does not answer. */
  planImageGc(needed: NeededImages): Promise<string>;
  collectContainers(request: ContainerGcRequest): Promise<ContainerGcReply>;
  /** Removes these containers, except those that still run. */
  removeContainers(ids: readonly ContainerID[]): Promise<void>;
  /** Measures the filesystems of images and containers now. Rejects when the runtime does not answer. Calls that arrive meanwhile share the next one. */
  sampleFilesystems(): Promise<void>;
  /** Uses these settings from now on. Work that is under way keeps the earlier settings. */
  configure(settings: LiveImagesSettings): Promise<void>;
  close(): Promise<void>;
}
