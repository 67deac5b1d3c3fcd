/** The dependencies of the steps of a sync: those of the thread, and the context of one task. */
import type { EnsureImageResult } from '../../../shared/contracts/images.ts';
import type { NodeInfo } from '../../../shared/contracts/node-info.ts';
import type { ActuatedResources, ExclusiveAllocation } from '../../../shared/contracts/pod-sync/allocation.ts';
import type { RuntimeHandlerChoice } from '../../../shared/contracts/pod-sync/task.ts';
import type { PodSyncSettings } from '../../../shared/contracts/pod-sync/worker-data.ts';
import type { PublishedVolume } from '../../../shared/contracts/published-volumes.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import type { Clock } from '../../../shared/time/clock.ts';
import type { PodCgroups } from '../cgroups/index.ts';
import type { PodEvents, TaskPod } from './pod-events.ts';
import type { LargeWork, LargeWorkLimiter } from './large-work.ts';
import type { HttpGet } from './hook-request.ts';
import type { TaskChannelClient } from './task-channel-client.ts';
import type { HostInfoReader } from './runtime-config/index.ts';
import type { PodRuntime } from './pod-runtime.ts';
import type { PodVolumes } from './volumes/index.ts';

/** One set per thread. */
export interface PodSyncDependencies {
  readonly settings: PodSyncSettings;
  readonly runtime: PodRuntime;
  readonly cgroups: Pick<
    PodCgroups,
    | 'cgroupParent'
    | 'exists'
    | 'ensureExists'
    | 'create'
    | 'thaw'
    | 'kill'
    | 'remove'
    | 'syncCgroups'
    | 'listPods'
    | 'resizableValues'
    | 'difference'
    | 'setResizableValue'
    | 'podMemoryUsage'
    | 'containerMemoryUsage'
  >;
  readonly volumes: Pick<
    PodVolumes,
    | 'mountVolumes'
    | 'resizeMemoryVolume'
    | 'makeContainerMounts'
    | 'writeHostsFile'
    | 'readEnvFiles'
    | 'unmountVolumes'
    | 'removePodDirectory'
  >;
  readonly hostInfo: Pick<HostInfoReader, 'read'>;
  readonly httpGet: HttpGet;
  readonly largeWork: LargeWorkLimiter;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** One per task. The logger has the pod's name and UID as fields. */
export interface TaskContext extends Omit<PodSyncDependencies, 'largeWork'> {
  readonly identity: TaskPod;
  readonly node: NodeInfo;
  readonly runtimeHandler: RuntimeHandlerChoice;
  readonly allocation: ExclusiveAllocation;
  /** The resources that are in force. Undefined: the allocated ones are. */
  readonly actuated: ActuatedResources | undefined;
  /** The pulls of the pod's image volumes in this task, by volume name. */
  readonly imageVolumePulls: Map<string, Promise<EnsureImageResult>>;
  /** The published volumes that main has reported to this task, by volume name. */
  readonly publishedVolumes: Map<string, PublishedVolume>;
  readonly channel: TaskChannelClient;
  readonly events: PodEvents;
  readonly largeWork: LargeWork;
}
