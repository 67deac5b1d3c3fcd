/** Creates the handlers for requests and notifications of the sync pool's tasks: images, start permits, API objects, events. */
import type { Clock } from '../../shared/time/clock.ts';
import type { EventSink } from '../events/index.ts';
import type { PodManager } from '../pods/pod-manager.ts';
import { PodStartLatency } from '../pods/pod-start-latency.ts';
import type { RuntimeStatusCache } from '../pods/runtime-status-cache.ts';
import type { PodWorkers } from '../pods/workers/index.ts';
import type { PodDispatcher } from '../pods/dispatch/index.ts';
import type { ImagesThread } from '../threads/images-thread.ts';
import type { TaskHandlers } from '../threads/task-channel.ts';
import type { PodObjectManager } from '../objects/index.ts';
import type { MountedVolumes } from '../pods/mounted-volumes.ts';
import type { AllocationManager } from '../allocation/index.ts';
import type { VolumeManager } from '../volumes/index.ts';
import type { ProbeManager } from '../probes/index.ts';
import type { PodTimelines } from '../timeline/index.ts';

export interface TaskHandlersOptions {
  readonly clock: Clock;
  readonly images: Pick<ImagesThread, 'ensureImage'>;
  readonly podManager: PodManager;
  readonly cache: RuntimeStatusCache;
  readonly events: EventSink;
  /** Undefined when standalone. */
  readonly podObjects: PodObjectManager | undefined;
  readonly mountedVolumes: MountedVolumes;
  readonly dispatcher: Pick<PodDispatcher, 'acquireStartPermit' | 'tryAcquireStartPermit'>;
  readonly volumeManager: Pick<VolumeManager, 'publish' | 'unpublish'>;
  readonly workers: Pick<PodWorkers, 'containersEnded' | 'beginRestart' | 'addWaitingReason'>;
  readonly timelines: PodTimelines;
  readonly probes: Pick<ProbeManager, 'hooks'>;
  readonly allocationManager: Pick<AllocationManager, 'setActuated' | 'settleWrites'>;
}

export function createTaskHandlers({
  clock,
  images,
  podManager,
  cache,
  events,
  podObjects,
  mountedVolumes,
  dispatcher,
  volumeManager,
  workers,
  timelines,
  probes,
  allocationManager,
}: TaskHandlersOptions): TaskHandlers {
  const startLatency = new PodStartLatency({ podManager, runtimeStatus: (uid) => cache.get(uid), clock });
  return {
    ensureImage: (request) =>
      startLatency.measurePull(request.podUID, () => timelines.measureImage(request, () => images.ensureImage(request))),
    startPermit: (kind, task, signal) =>
      timelines.duringWait(task.podUID, kind === 'sandbox' ? 'Sandbox' : 'Create', 'StartPermit', () =>
        dispatcher.acquireStartPermit(kind, task, signal),
      ),
    tryStartPermit: (kind, task) => dispatcher.tryAcquireStartPermit(kind, task),
    event: (event) => events.record(event),
    phase: (report, { podUID }) => timelines.report(podUID, report),
    taskEnded: ({ podUID }) => timelines.taskEnded(podUID),
    containersEnded: ({ podUID }) => workers.containersEnded(podUID),
    containerWaiting: (container, waiting, { podUID }) => workers.addWaitingReason(podUID, container, waiting),
    postStartHook: (container, unfinished) => probes.hooks.setUnfinished(container, unfinished),
    actuated: (actuated, { podUID }) => allocationManager.setActuated(podUID, actuated),
    // settleWrites never rejects: a container starts even when the record can't be written.
    recordActuated: async (actuated, { podUID }) => {
      allocationManager.setActuated(podUID, actuated);
      await allocationManager.settleWrites();
    },
    beginRestart: (containers, task) => {
      const knownContainers = task.kind === 'sync' ? (task.status?.containers ?? []) : [];
      return workers.beginRestart(
        task.podUID,
        knownContainers.filter(({ id }) => containers.includes(id)),
      );
    },
    publishVolume: async (volume, task) =>
      task.kind === 'sync'
        ? timelines.duringWait(task.podUID, 'Volumes', 'Objects', () => volumeManager.publish(task.pod, volume))
        : { outcome: 'failed', message: 'only a sync publishes volumes' },
    unpublishVolume: (folder, { podUID }) => volumeManager.unpublish(podUID, folder),
    volumesMounted: (names, { podUID }) => mountedVolumes.setMounted(podUID, names),
    // Only a sync reads API objects.
    ...(podObjects && {
      podObjects: async (refs, task) =>
        task.kind === 'sync' ? timelines.duringWait(task.podUID, 'Volumes', 'Objects', () => podObjects.get(refs, task.pod)) : [],
    }),
  };
}
