/**
 * Starts the parts that run pods: the pod workers, the handlers of the sources' updates, the garbage collection, the evictions, and the
 * handlers that the sync loop calls.
 */
import { podUID } from '../../shared/kubernetes/ids.ts';
import { createPodHandlers } from './create-pod-handlers.ts';
import { createGarbageCollection } from './garbage-collection.ts';
import { startNodeCgroups } from './start-node-cgroups.ts';
import type { RuntimeServices } from './runtime-services.ts';
import type { EvictionManager } from '../eviction/index.ts';
import { PodFaults } from '../pods/workers/index.ts';
import type { PodSources, PodUpdate } from '../sources/index.ts';
import type { SyncLoop, SyncLoopHandlers } from '../sync-loop.ts';
import { neededImages } from '../pods/housekeeping/index.ts';
import { startPodWorkers, type PodWorkersStart } from './start-pod-workers.ts';
import { startEviction } from './start-eviction.ts';
import { startNodeShutdown } from './start-node-shutdown.ts';
import { createSyncLoopHandlers } from './sync-loop-handlers.ts';
import type { NodeServices } from './node-services.ts';

export interface PodRunnerOptions extends Omit<PodWorkersStart, 'onDue'> {
  readonly runtime: RuntimeServices;
  readonly nodeServices: NodeServices;
  readonly sources: PodSources;
  readonly syncLoop: Pick<SyncLoop<PodUpdate>, 'onDue' | 'requestHousekeeping'>;
}

export interface PodRunner {
  /** The handlers that the sync loop calls. */
  readonly handlers: SyncLoopHandlers<PodUpdate>;
  readonly eviction: EvictionManager;
}

export async function startPodRunner(runner: PodRunnerOptions): Promise<PodRunner> {
  const {
    clock,
    log,
    shutdown,
    podLifecycle,
    runtime,
    nodeServices,
    cluster,
    podManager,
    cache,
    statuses,
    podStates,
    events,
    sources,
    syncLoop,
  } = runner;
  const { images } = runtime;
  const { clusterNode } = nodeServices;
  const activePods = () => runner.activePods.list();

  const faults = new PodFaults({ events, clock, logger: log('pod-faults'), random: Math.random });
  shutdown.register('pod-faults', async () => faults.close());
  podLifecycle.register({ name: 'pod-faults', forgotten: (uid) => faults.forget(uid) });
  podLifecycle.register({ name: 'sync-loop', finished: () => syncLoop.requestHousekeeping() });
  const podWorkers = await startPodWorkers({ ...runner, onDue: () => syncLoop.onDue() });
  const { workers } = podWorkers;
  const podHandlers = createPodHandlers({ ...runner, ...podWorkers, faults });
  const mirrorPods =
    cluster && clusterNode
      ? cluster.startMirrorPods(clusterNode, {
          podManager,
          isSynced: () => sources.hasApiSynced(),
          sourcesReady: () => runner.sourcesReady.allReady(),
          isStaticPodEnding: (fullName, wanted) => podStates.isStaticPodEnding(fullName, wanted),
          onMirrorPod: (pod, mirror) => {
            if (statuses.adoptMirrorStatus(podUID(pod), mirror.status)) workers.refreshStatuses([podUID(pod)]);
          },
        })
      : undefined;
  const nodeCgroups = startNodeCgroups({ ...runner, activePods });
  const garbageCollection = createGarbageCollection({ ...runner, activePods, images, workers, podHandlers, mirrorPods });
  const { housekeeping } = garbageCollection;
  const eviction = startEviction({
    ...runner,
    images,
    workers,
    pressure: nodeServices.pressure,
    activePods,
    deleteAllUnusedContainers: () => housekeeping.deleteAllUnusedContainers(),
    containersRemovedAtMs: () => housekeeping.containersRemovedAtMs,
    neededImages: () => neededImages({ podManager, statuses, cache, clock }),
  });
  startNodeShutdown({ ...runner, workers, state: nodeServices.shutdown, activePods });
  const handlers = createSyncLoopHandlers({ ...runner, ...podWorkers, ...garbageCollection, podHandlers, nodeCgroups });
  return { handlers, eviction };
}
