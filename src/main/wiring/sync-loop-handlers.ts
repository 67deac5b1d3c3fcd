/** Creates the handlers that the sync loop calls: pods' updates, lifecycle events, probe results, due syncs and housekeeping. */
import type { RuntimeState } from '../node/index.ts';
import type { ApiStatusCache } from '../pods/api-status/index.ts';
import type { PodHandlers } from '../pods/pod-handlers.ts';
import type { PodManager } from '../pods/pod-manager.ts';
import type { PodWorkers } from '../pods/workers/index.ts';
import type { WorkQueue } from '../../shared/concurrency/work-queue.ts';
import type { ProbeManager } from '../probes/index.ts';
import type { PodSources, PodUpdate, SourcesReady } from '../sources/index.ts';
import type { SyncLoopHandlers } from '../sync-loop.ts';
import type { GarbageCollection } from './garbage-collection.ts';
import type { KubeletContext } from './kubelet-context.ts';
import { createProbeHandlers } from './probe-handlers.ts';
import type { PodStates } from '../pods/lifecycle/pod-states.ts';

export interface SyncLoopHandlersOptions extends Pick<KubeletContext, 'podLifecycle'>, GarbageCollection {
  readonly podManager: PodManager;
  readonly workers: PodWorkers;
  readonly podStates: PodStates;
  readonly statuses: ApiStatusCache;
  readonly probes: ProbeManager;
  readonly podHandlers: PodHandlers;
  readonly workQueue: WorkQueue;
  readonly sources: Pick<PodSources, 'take' | 'markHandled'>;
  readonly sourcesReady: Pick<SourcesReady, 'allReady'>;
  readonly runtime: { readonly runtimeState: Pick<RuntimeState, 'errors'> };
}

export function createSyncLoopHandlers(options: SyncLoopHandlersOptions): SyncLoopHandlers<PodUpdate> {
  const { podLifecycle, podManager, workers, podStates, sourcesReady, statuses, probes, podHandlers, workQueue, sources, runtime } =
    options;
  const { housekeeping, containerDeletor, imageGarbageCollection } = options;
  return {
    ...createProbeHandlers({ probes, workers, statuses }),
    refreshStatuses: (uids) => workers.refreshStatuses(uids),
    shouldIgnoreStarts: (uid) => workers.shouldIgnoreStarts(uid),
    handlePodSyncs: (uids) => workers.wake(uids),
    runtimeErrors: () => runtime.runtimeState.errors(),
    takeUpdates: () => sources.take(),
    handleUpdate: async (update) => {
      try {
        await podHandlers.handle(update);
      } finally {
        sources.markHandled(update);
        podLifecycle.updateHandled();
      }
    },
    handleContainerChanged: (uid, id) => containerDeletor.deleteContainersInPod(uid, id),
    takeDue: () => workQueue.takeDue(),
    sourcesReady: () => sourcesReady.allReady(),
    housekeepKnownPods: () => {
      housekeeping.runWithoutAllSources();
      imageGarbageCollection.runIfDue();
    },
    housekeep: () => {
      housekeeping.run();
      imageGarbageCollection.runIfDue();
      podLifecycle.keepOnly(new Set([...podManager.uids(), ...podStates.uids()]));
    },
  };
}
