/**
 * The sync pool: the steps of one pod. A task is a message in and a result out; the same task run twice does no harm. Its line
 * (a MessagePort) is how it asks for what only others may do, and how it hears that it should stop.
 */
import type { MessagePort } from 'node:worker_threads';
import type { PodSandboxStatus } from '../../cri/generated/cri-v1.ts';
import type { Failure } from '../../errors/kubelet-error.ts';
import type { ObjectReference, Pod, PodStatus } from '../../kubernetes/api.ts';
import type { ContainerID, PodUID, SandboxID } from '../../kubernetes/ids.ts';
import type { EnsureImageRequest, EnsureImageResult } from '../images.ts';
import type { NodeFacts } from '../node-facts.ts';
import type { RuntimePodStatus } from '../runtime-status.ts';
import type { ThreadWorkerData } from '../thread.ts';
import type { PodObjectRef, PodObjectResult } from '../pod-objects.ts';

/** Births of the pool's threads: those that live at once, and a few for those that replace one that is still ending. */
export interface PodSyncWorkerData extends Omit<ThreadWorkerData, 'metrics' | 'heartbeatRow'> {
  /** A thread claims the first that is free (shared/state/claims.ts): it counts metrics and beats there. */
  readonly metricsSegments: readonly SharedArrayBuffer[];
  readonly heartbeatRows: readonly number[];
  readonly claims: SharedArrayBuffer;
  /** The runtime's word on it (shared/state/runtime-cgroup-driver.ts) goes before the settings'; there before the first task. */
  readonly runtimeCgroupDriver: SharedArrayBuffer;
  readonly settings: PodSyncSettings;
}

/** The part of the configuration that a sync needs. */
export interface PodSyncSettings {
  readonly runtimeEndpoint: string;
  readonly imageEndpoint: string;
  readonly runtimeRequestTimeoutMs: number;
  readonly rootDir: string;
  readonly podLogsDir: string;
  readonly containerLogsDir: string;
  readonly seccompDefault: boolean;
  readonly seccompProfileRoot: string;
  /** As configured. */
  readonly cgroupDriver: 'cgroupfs' | 'systemd';
  readonly cgroupVersion: 1 | 2;
  /** Where the hierarchy is mounted: /sys/fs/cgroup. */
  readonly cgroupFsRoot: string;
  readonly cgroupRoot: string;
  readonly cgroupsPerQOS: boolean;
  readonly cpuCFSQuota: boolean;
  readonly cpuCFSQuotaPeriodUs: number;
  readonly podPidsLimit: number;
  readonly memorySwapBehavior: string;
  readonly clusterDNS: readonly string[];
  readonly clusterDomain: string;
  readonly resolvConf: string;
  readonly allowedUnsafeSysctls: readonly string[];
  readonly maxContainerBackOffMs: number;
  readonly initialContainerBackOffMs: number;
  readonly singleProcessOOMKill: boolean;
  readonly featureGates: Readonly<Record<string, boolean>>;
}

export type PodSyncTask = SyncPodTask | SyncTerminatingPodTask | SyncTerminatedPodTask | CleanUpPodTask;

interface TaskBase {
  readonly podUID: PodUID;
  readonly node: NodeFacts;
  /** Lists of PodSyncRequest out, PodSyncReply in. Transferred with the task. */
  readonly channel: MessagePort;
}

/** Make the runtime run the pod. */
export interface SyncPodTask extends TaskBase {
  readonly kind: 'sync';
  readonly pod: Pod;
  readonly status: RuntimePodStatus | null;
  /**
   * True: every secret and config map that it refers to is known to be there and its certificates are issued, so that its volumes are not
   * what it will wait for.
   */
  readonly dependenciesReady?: boolean;
  /** Main knows already that all its volumes are in place: the task tells only when one is not. */
  readonly volumesMounted?: boolean;
  /** The permit to start the sandbox comes with the task, and is given back as `firstPermit`. */
  readonly hasSandboxPermit?: boolean;
  /** What main made of `status`: its pod IPs are what the downward API shows. */
  readonly apiStatus: PodStatus;
  readonly backoffs: readonly ContainerBackoff[];
  /** What the pod's RuntimeClass stands for; absent: the runtime's default. */
  readonly runtimeHandler?: RuntimeHandlerChoice;
}

/** The runtime's handler that a pod is run with; empty: its default. Or why there is none. */
export type RuntimeHandlerChoice = { readonly handler: string } | { readonly problem: string };

/** End every container, then the sandboxes. The pod is null for one that only the runtime knows. */
export interface SyncTerminatingPodTask extends TaskBase {
  readonly kind: 'terminating';
  readonly pod: Pod | null;
  readonly status: RuntimePodStatus;
  /** Overrides the pod's own; may only shrink, also while the task runs (`shrinkGracePeriod`). */
  readonly gracePeriodSeconds: number | null;
}

/** Nothing runs any more: unmount volumes, remove the pod's cgroup. */
export interface SyncTerminatedPodTask extends TaskBase {
  readonly kind: 'terminated';
  readonly pod: Pod;
  readonly status: RuntimePodStatus | null;
}

/** The pod is forgotten: what is left on disk of this UID goes (volumes unmounted first; never follows a mount), its cgroup too. */
export interface CleanUpPodTask extends TaskBase {
  readonly kind: 'cleanUp';
}

/** CrashLoopBackOff of one container. Main keeps it between tasks; a task gets the pod's and answers with the changed. */
export interface ContainerBackoff {
  /** Container name and spec hash: a changed spec starts afresh. */
  readonly key: string;
  readonly backoffMs: number;
  /** Wall-clock ms of the last step. */
  readonly lastUpdateMs: number;
}

/** A task's way home. */
export interface PodSyncTaskReply {
  readonly result: PodSyncResult;
  /** What it told last, in order: it is not worth a message of its own. */
  readonly notifications: readonly PodSyncNotification[];
}

export type PodSyncResult =
  | ({ readonly outcome: 'synced' } & PodSyncReport)
  | ({ readonly outcome: 'failed'; readonly failure: Failure } & PodSyncReport)
  /** It was told to stop, and did. */
  | ({ readonly outcome: 'stopped' } & PodSyncReport);

/** Why a container does not run: its waiting reason in the API. */
export interface WaitingReason {
  readonly reason: string;
  readonly message: string;
}

export interface PodSyncReport {
  /** Why a container does not run, by name: what the API shows as its waiting reason (CrashLoopBackOff, ErrImagePull, CreateContainerConfigError, …). Complete: a name that is absent has none. */
  readonly waiting: Readonly<Record<string, WaitingReason>>;
  readonly backoffs: readonly ContainerBackoff[];
  /** The soonest time, as wall-clock ms, at which a back-off of this pod ends: main syncs it again then. */
  readonly retryAtMs?: number;
  /** Main should look at the pod now: the task changed something in the runtime. */
  readonly changedRuntime: boolean;
  /** All that the task made, when it knows that for sure: main's look need not list the pod. */
  readonly created?: CreatedObjects;
}

export interface CreatedContainer {
  readonly id: ContainerID;
  readonly sandboxID: SandboxID;
  readonly name: string;
}

export interface CreatedSandbox {
  readonly id: SandboxID;
  /** Nothing may be known of the pod yet. */
  readonly podName: string;
  readonly podNamespace: string;
  /** What the runtime said of it once it was made, where it was asked: the look need not ask again. */
  readonly status?: PodSandboxStatus;
}

/** What a sync made of a pod. */
export interface CreatedObjects {
  readonly sandbox?: CreatedSandbox;
  readonly containers: readonly CreatedContainer[];
}

/** All there is of the pod is known already: a look need not list it. */
export const noCreatedObjects: CreatedObjects = { containers: [] };

/** The `id` of the permit that comes with a task, whatever it is passed on to: no question has it. */
export const sandboxPermitID = -1;

/** Task to main, over the line, in lists: each message wakes main, which goes before all other threads. */
export type PodSyncMessage = PodSyncRequest | PodSyncNotification;

/** Answered by a reply with the same `id`. */
export type PodSyncRequest =
  | { readonly type: 'ensureImage'; readonly id: number; readonly image: EnsureImageRequest }
  /** Before a sandbox or a container is started; given back when that call ended. */
  | { readonly type: 'startPermit'; readonly id: number; readonly kind: 'sandbox' | 'container' }
  /** What lies in the API server. */
  | { readonly type: 'values'; readonly id: number; readonly refs: readonly PodObjectRef[] }
  /** Before the task stops running containers that it starts again: from the answer on, their stop is not published. */
  | { readonly type: 'beginRestart'; readonly id: number; readonly containers: readonly ContainerID[] };

/** Never answered. */
export type PodSyncNotification =
  /** The sandbox is there, and its first container starts in its place. */
  | { readonly type: 'passPermit'; readonly id: number }
  | { readonly type: 'returnPermit'; readonly id: number; readonly succeeded: boolean }
  /** The volumes that are set up now, by name: those, and no others. */
  | { readonly type: 'volumesInPlace'; readonly volumes: readonly string[] }
  /** Of a pod that ends: the runtime has ended every container that ran. Its sandboxes come next. */
  | { readonly type: 'containersEnded' }
  /** A container could not be started. The result says so too, but other containers may take minutes until then. */
  | { readonly type: 'waiting'; readonly container: string; readonly why: WaitingReason }
  | { readonly type: 'event'; readonly event: RecordedEvent };

/** Main to task. */
export type PodSyncReply =
  | { readonly type: 'image'; readonly id: number; readonly result: EnsureImageResult }
  | { readonly type: 'permit'; readonly id: number }
  /** Not allowed: main knows that one of the containers has ended by itself. */
  | { readonly type: 'restart'; readonly id: number; readonly allowed: boolean }
  /** One for each that was asked for, in that order. */
  | { readonly type: 'values'; readonly id: number; readonly results: readonly PodObjectResult[] }
  /** Stop as soon as nothing is left half done; answer `stopped`. `podEnds`: nobody wants the sandbox that is being made. */
  | { readonly type: 'stop'; readonly podEnds?: boolean }
  | { readonly type: 'shrinkGracePeriod'; readonly gracePeriodSeconds: number };

export interface RecordedEvent {
  readonly object: ObjectReference;
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
  /** When it happened, as wall-clock ms; absent: when it is recorded. */
  readonly atMs?: number;
}

/** The pool's second job: manifests are parsed, defaulted and validated away from main, since a file may be 10 MB. */
export interface DecodeManifestTask {
  readonly source: 'file' | 'http';
  /** The path or URL: part of the UID, and of every error. */
  readonly origin: string;
  readonly nodeName: string;
  readonly content: Uint8Array;
}

export interface DecodeManifestResult {
  readonly pods: readonly Pod[];
  /** One clear line each, with the field's path. A manifest with errors yields no pods but for a list's good ones. */
  readonly errors: readonly string[];
  /** The manifest was read as a whole: a list that is empty means no pods, not a broken document. */
  readonly readable: boolean;
}
