/** What every pod worker gets, and the events that a worker reports to the registry of all workers (pod-workers.ts). */
import type { NodeInfo } from '../../../shared/contracts/node-info.ts';
import type { CreatedObjects } from '../../../shared/contracts/pod-sync/result.ts';
import type { RuntimeHandlerChoice } from '../../../shared/contracts/pod-sync/task.ts';
import type { Pod } from '../../../shared/kubernetes/api.ts';
import type { AllocatedPod, AllocationManager, ExclusiveAllocations } from '../../allocation/index.ts';
import type { PodUID } from '../../../shared/kubernetes/ids.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import type { Clock } from '../../../shared/time/clock.ts';
import type { PodTask } from '../../threads/task-channel.ts';
import type { PodSyncRun } from '../../threads/pod-sync-pool.ts';
import type { MountedVolumes } from '../mounted-volumes.ts';
import type { EventSink } from '../../events/index.ts';
import type { RuntimeStatusCache } from '../runtime-status-cache.ts';
import type { ProbeManager } from '../../probes/index.ts';
import type { ApiStatusCache } from '../api-status/index.ts';
import type { RequeuePolicy } from './sync-outcome.ts';
import type { PodDispatcher } from '../dispatch/index.ts';
import type { PodLifecycleObservers } from '../lifecycle/pod-lifecycle-observers.ts';
import type { PodTimelines } from '../../timeline/index.ts';
import type { WorkQueue } from '../../../shared/concurrency/work-queue.ts';

export interface PodWorkerDependencies {
  readonly pool: { run(task: PodTask): PodSyncRun };
  /** Asks the pleg thread to inspect one pod; see PlegApi. Resolves when the cache has the result. Must settle. */
  readonly inspectPod: (uid: PodUID, created?: CreatedObjects) => Promise<void>;
  readonly cache: Pick<RuntimeStatusCache, 'get' | 'isNewerThan'>;
  readonly statuses: ApiStatusCache;
  readonly dispatcher: Pick<PodDispatcher, 'requestSyncSlot'>;
  readonly probes: Pick<ProbeManager, 'verdicts' | 'hasFailed' | 'hooks'>;
  readonly workQueue: WorkQueue;
  readonly events: EventSink;
  readonly node: () => NodeInfo;
  /** Whether all secrets and config maps of the pod's volumes are known, and its claims can be mounted. */
  readonly dependenciesReady: (pod: Pod) => boolean;
  readonly volumes: Pick<MountedVolumes, 'areAllMounted'>;
  /** Called for pods with a runtime class. Must settle, and not reject. */
  readonly runtimeHandler: (pod: Pod) => RuntimeHandlerChoice | Promise<RuntimeHandlerChoice>;
  readonly exclusiveAllocations: Pick<ExclusiveAllocations, 'restore'>;
  readonly allocation: Pick<AllocationManager, 'actuated'>;
  readonly observers: Pick<PodLifecycleObservers, 'observed' | 'syncing' | 'resizeFailed' | 'terminating' | 'containersEnded'>;
  readonly timelines: PodTimelines;
  readonly policy: RequeuePolicy;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called when a task or an inspection has failed: the runtime may be down. */
  readonly onFailure: () => void;
  /** 0 to 1, for jitter. */
  readonly random: () => number;
}

export interface PodIdentity {
  readonly uid: PodUID;
  /** `<name>_<namespace>`. */
  readonly fullName: string;
  readonly isStatic: boolean;
  /** The newest spec; null when only the runtime knows the pod. */
  readonly pod: AllocatedPod | null;
}

/** The registry of all workers. */
export interface PodWorkerOwner {
  /**
   * Whether a pod that has not started may start now: a static pod waits until another one of the same full name has ended. If not, its worker is woken
   * when it may. Upstream: allowPodStart.
   */
  allowPodStart(worker: PodIdentity): boolean;
  onTerminated(worker: PodIdentity): void;
  onFinished(worker: PodIdentity): void;
  onForgotten(worker: PodIdentity): void;
}
