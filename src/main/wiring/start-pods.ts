/**
 * Starts the parts that run pods: the pod workers, the handlers of the sources' updates, the garbage collection, and the handlers that the sync loop
 * calls. A modelled node (test/support/pod-model/) and a node without threads (test/support/pods/fake-node.ts) start the same parts with a clock, a runtime and threads of their own.
 */
import { PodFaults } from '../pods/workers/index.ts';
import type { PodUpdate } from '../sources/index.ts';
import type { SyncLoop, SyncLoopHandlers } from '../sync-loop.ts';
import { createPodHandlers, type PodHandlersOptions } from './create-pod-handlers.ts';
import { createGarbageCollection, type GarbageCollection, type GarbageCollectionOptions } from './garbage-collection.ts';
import { startMirrorPods, type MirrorPodsStart } from './start-mirror-pods.ts';
import { startPodWorkers, type PodWorkersParts, type PodWorkersStart } from './start-pod-workers.ts';
import { createSyncLoopHandlers, type SyncLoopHandlersOptions } from './sync-loop-handlers.ts';

/** The parts that startPods creates for each other. */
type Made = PodWorkersParts &
  GarbageCollection &
  Pick<PodHandlersOptions, 'faults'> &
  Pick<GarbageCollectionOptions, 'podHandlers' | 'mirrorPods'>;

/** The dependencies that the caller provides. */
export type PodsStart = PodWorkersStart &
  Omit<PodHandlersOptions & MirrorPodsStart & GarbageCollectionOptions & SyncLoopHandlersOptions, keyof Made> & {
    readonly syncLoop: Pick<SyncLoop<PodUpdate>, 'requestHousekeeping'>;
  };

export interface StartedPods
  extends Pick<PodWorkersParts, 'workers'>, Pick<GarbageCollection, 'housekeeping'>, Pick<GarbageCollectionOptions, 'podHandlers'> {
  /** The handlers that the sync loop calls. */
  readonly handlers: SyncLoopHandlers<PodUpdate>;
}

export function startPods(start: PodsStart): StartedPods {
  const { clock, random, log, shutdown, podLifecycle, events, syncLoop } = start;
  const faults = new PodFaults({ events, clock, random, logger: log('pod-faults') });
  shutdown.register('pod-faults', async () => faults.close());
  podLifecycle.register({ name: 'pod-faults', forgotten: (uid) => faults.forget(uid) });
  podLifecycle.register({ name: 'sync-loop', finished: () => syncLoop.requestHousekeeping() });
  const podWorkers = startPodWorkers(start);
  const { workers } = podWorkers;
  const podHandlers = createPodHandlers({ ...start, ...podWorkers, faults });
  const mirrorPods = startMirrorPods({ ...start, workers });
  const garbageCollection = createGarbageCollection({ ...start, workers, podHandlers, mirrorPods });
  const handlers = createSyncLoopHandlers({ ...start, ...podWorkers, ...garbageCollection, podHandlers });
  return { workers, podHandlers, housekeeping: garbageCollection.housekeeping, handlers };
}
