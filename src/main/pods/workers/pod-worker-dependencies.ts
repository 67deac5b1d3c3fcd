/** What a pod worker is given, and whom it tells what became of its pod. */
import type { NodeFacts } from '../../../shared/contracts/node-facts.ts';
import type { CreatedObjects } from '../../../shared/contracts/pod-sync/result.ts';
import type { RuntimeHandlerChoice } from '../../../shared/contracts/pod-sync/task.ts';
import type { RuntimePodStatus } from '../../../shared/contracts/runtime-status.ts';
import type { Pod, PodStatus } from '../../../shared/kubernetes/api.ts';
import type { PodUID } from '../../../shared/kubernetes/ids.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import type { Clock } from '../../../shared/time/clock.ts';
import type { PodTask } from '../../threads/task-channel.ts';
import type { PodSyncRun } from '../../threads/pod-sync-pool.ts';
import type { MountedVolumes } from '../mounted-volumes.ts';
import type { EventSink } from '../../events/index.ts';
import type { RuntimeStatusCache } from '../runtime-status-cache.ts';
import type { ApiStatusCache } from '../api-status/api-status-cache.ts';
import type { PodWorker } from './pod-worker.ts';
import type { RequeuePolicy } from './sync-outcome.ts';
import type { PodScheduler } from '../scheduling/index.ts';
import type { WorkQueue } from './work-queue.ts';

export interface PodWorkerDependencies {
  readonly pool: { run(task: PodTask): PodSyncRun };
  /** Asks the pleg thread to inspect one pod; see PlegApi. Must settle. */
  readonly inspectPod: (uid: PodUID, created?: CreatedObjects, sequence?: number) => Promise<RuntimePodStatus | null>;
  readonly cache: RuntimeStatusCache;
  readonly statuses: ApiStatusCache;
  /** Absent: every sync runs at once. */
  readonly scheduler?: Pick<PodScheduler, 'requestSyncSlot'>;
  readonly workQueue: WorkQueue;
  readonly events: EventSink;
  readonly node: () => NodeFacts;
  /** Whether all secrets and config maps that the pod's volumes need are known; absent: there is no API server that has any. */
  readonly dependenciesReady?: (pod: Pod) => boolean;
  /** How many volumes there are. */
  readonly volumes: Pick<MountedVolumes, 'addPod' | 'areAllMounted' | 'markUnwanted' | 'removePod'>;
  /** Asked for pods with a RuntimeClass. Must settle, and not reject. */
  readonly runtimeHandler: (pod: Pod) => RuntimeHandlerChoice | Promise<RuntimeHandlerChoice>;
  readonly policy: RequeuePolicy;
  readonly clock: Clock;
  readonly logger: Logger;
  /** A task, or a look, has failed: the runtime may be away. */
  readonly onFailure: () => void;
  /** 0 to 1, for jitter. */
  readonly random: () => number;
}

/** What a worker tells the one who keeps all of them. */
export interface PodWorkerOwner {
  /** Whether a pod that has not started may do so now; if not, it is woken when its turn comes. */
  mayStart(worker: PodWorker): boolean;
  /** The pod is about to be synced, with this status. It may be ended by this. */
  onStatus(worker: PodWorker, status: PodStatus): void;
  onTerminated(worker: PodWorker): void;
  onFinished(worker: PodWorker): void;
  onCleanedUp(worker: PodWorker): void;
}
