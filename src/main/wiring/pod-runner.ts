/**
 * Starts the parts that run pods: the API objects of pods, the handlers of the tasks' requests, the pod workers, the handlers of the
 * sources' updates, and the garbage collection.
 */
import { podUID } from '../../shared/kubernetes/ids.ts';
import { systemClock as clock } from '../../shared/time/clock.ts';
import { withTimeout } from '../../shared/concurrency/with-timeout.ts';
import { createPodHandlers } from './create-pod-handlers.ts';
import { createGarbageCollection } from './garbage-collection.ts';
import type { Cluster } from './cluster.ts';
import type { KubeletContext } from './kubelet-context.ts';
import type { Allocation } from './open-allocation.ts';
import { openExclusiveAllocations } from './open-exclusive-allocations.ts';
import { startNodeCgroups } from './start-node-cgroups.ts';
import { startPodObjects } from './start-pod-objects.ts';
import { startResizes } from './start-resizes.ts';
import type { RuntimeServices } from './runtime-services.ts';
import type { EventSink } from '../events/index.ts';
import type { EvictionManager } from '../eviction/index.ts';
import type { PodManager } from '../pods/pod-manager.ts';
import type { RuntimeStatusCache } from '../pods/runtime-status-cache.ts';
import type { ApiStatusCache } from '../pods/api-status/index.ts';
import { PodFaults, PodWorkers, WorkQueue } from '../pods/workers/index.ts';
import { standaloneRuntimeHandler } from '../objects/index.ts';
import type { ProbeManager } from '../probes/index.ts';
import type { PodScheduler } from '../pods/dispatch/index.ts';
import { MountedVolumes } from '../pods/mounted-volumes.ts';
import type { PodSources, PodUpdate } from '../sources/index.ts';
import type { SyncLoop, SyncLoopHandlers } from '../sync-loop.ts';
import { neededImages } from '../pods/housekeeping/index.ts';
import { startEviction } from './start-eviction.ts';
import { startNodeShutdown } from './start-node-shutdown.ts';
import { createSyncLoopHandlers } from './sync-loop-handlers.ts';
import { createTaskHandlers } from './task-handlers.ts';
import type { PodTimelines } from '../timeline/index.ts';
import type { NodeServices } from './node-services.ts';
import type { NodeInfoSource } from '../node/index.ts';
import type { PodStates } from '../pods/lifecycle/pod-states.ts';
import type { ActivePods } from '../pods/active-pods.ts';
import type { SourcesReady } from '../sources/index.ts';

/** Upstream's backOffPeriod. */
const backOffMs = 10_000;
/** How long a task may take to reach a step at which it can stop. */
const drainDeadlineMs = 1500;

export interface PodRunnerOptions extends KubeletContext, Allocation {
  readonly runtime: RuntimeServices;
  readonly nodeInfo: NodeInfoSource;
  readonly nodeServices: NodeServices;
  readonly cluster: Cluster | null;
  readonly podManager: PodManager;
  readonly cache: RuntimeStatusCache;
  readonly statuses: ApiStatusCache;
  readonly probes: ProbeManager;
  readonly scheduler: PodScheduler;
  readonly podStates: PodStates;
  readonly activePods: ActivePods;
  readonly events: EventSink;
  readonly timelines: PodTimelines;
  readonly sources: PodSources;
  readonly sourcesReady: SourcesReady;
  readonly syncLoop: Pick<SyncLoop<PodUpdate>, 'onDue' | 'requestHousekeeping'>;
}

export interface PodRunner {
  /** The handlers that the sync loop calls. */
  readonly handlers: SyncLoopHandlers<PodUpdate>;
  readonly eviction: EvictionManager;
}

export async function startPodRunner(runner: PodRunnerOptions): Promise<PodRunner> {
  const { options, log, shutdown, threads, runtime, nodeServices, cluster, podManager, cache, statuses, probes, scheduler, events } =
    runner;
  const { timelines, sources, syncLoop, allocationManager, podLifecycle, podStates } = runner;
  const { config } = options;
  const { pool, pleg } = threads;
  const { images, runtimeState } = runtime;
  const { clusterNode } = nodeServices;
  const sourcesReady = () => runner.sourcesReady.allReady();
  const activePods = () => runner.activePods.list();

  const faults = new PodFaults({ events, clock, logger: log('pod-faults'), random: Math.random });
  shutdown.register('pod-faults', async () => faults.close());
  podLifecycle.register({ name: 'pod-faults', forgotten: (uid) => faults.forget(uid) });
  podLifecycle.register({ name: 'sync-loop', finished: () => syncLoop.requestHousekeeping() });
  const exclusive = await openExclusiveAllocations(runner);

  // Nothing below waits: the callbacks of the objects and the resizes refer to the workers, and are called only after this function has returned.
  const { podObjects, runtimeClasses } = startPodObjects({ ...runner, wake: (uids) => workers.wake(uids) });
  const volumes = new MountedVolumes(clock);
  const workQueue = new WorkQueue({ clock, onDue: () => syncLoop.onDue() });
  shutdown.register('work-queue', async () => workQueue.close());
  const resizes = startResizes({
    ...runner,
    workers: () => workers,
    podHandlers: () => podHandlers,
    workQueue,
    sourcesReady,
  });
  const workers = new PodWorkers({
    pool,
    inspectPod: (uid, created, sequence) => pleg.inspectPod(uid, created, sequence),
    cache,
    statuses,
    scheduler,
    probes,
    podStates,
    workQueue,
    events,
    node: () => runner.nodeInfo.current(),
    ...(podObjects && { dependenciesReady: (pod) => podObjects.dependenciesReady(pod) }),
    volumes,
    timelines,
    runtimeHandler: (pod) => runtimeClasses?.lookupRuntimeHandler(pod) ?? standaloneRuntimeHandler(pod),
    exclusive,
    allocation: allocationManager,
    resizes,
    policy: { resyncIntervalMs: config.syncFrequency, backOffMs },
    clock,
    logger: log('pod-workers'),
    onFailure: () => runtimeState.checkSoon(),
    random: Math.random,
    observers: podLifecycle,
  });
  runtimeState.onRecovered(() => workers.wakeFailed());
  shutdown.register('pod-workers', () => withTimeout(drainDeadlineMs, workers.close()));
  pool.setHandlers(
    createTaskHandlers({ images, podManager, cache, events, podObjects, volumes, scheduler, workers, timelines, probes, resizes }),
  );

  const podHandlers = createPodHandlers({ ...runner, workers, exclusive, resizes, faults, sourcesReady });
  const mirrorPods =
    cluster && clusterNode
      ? cluster.startMirrorPods(clusterNode, {
          podManager,
          isSynced: () => sources.hasApiSynced(),
          sourcesReady,
          isStaticPodEnding: (fullName, wanted) => podStates.isStaticPodEnding(fullName, wanted),
          onMirrorPod: (pod, mirror) => {
            if (statuses.adoptMirrorStatus(podUID(pod), mirror.status)) workers.refreshStatuses([podUID(pod)]);
          },
        })
      : undefined;
  const nodeCgroups = startNodeCgroups({ ...runner, activePods });
  nodeServices.machine.onChanged(() => resizes.retry('periodic_retry'));
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
  const handlers = createSyncLoopHandlers({ ...runner, ...garbageCollection, workers, podHandlers, nodeCgroups, workQueue });
  return { handlers, eviction };
}
