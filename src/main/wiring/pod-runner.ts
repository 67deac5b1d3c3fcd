/**
 * Starts the parts that run pods: the API objects of pods, the handlers of the tasks' requests, the pod workers, the handlers of the
 * sources' updates, and the garbage collection.
 */
import type { Pod } from '../../shared/kubernetes/api.ts';
import { podUID } from '../../shared/kubernetes/ids.ts';
import { restartedPods } from '../../shared/metrics/definitions/pods.ts';
import { systemClock as clock } from '../../shared/time/clock.ts';
import { withTimeout } from '../../shared/concurrency/with-timeout.ts';
import { createGarbageCollection } from './garbage-collection.ts';
import type { Cluster } from './cluster.ts';
import type { KubeletContext } from './kubelet-context.ts';
import type { Allocation } from './open-allocation.ts';
import { startResizes } from './start-resizes.ts';
import { declaredFeatures } from '../node/index.ts';
import type { RuntimeServices } from './runtime-services.ts';
import { HostProcesses, NodeCgroups } from '../node-cgroups/index.ts';
import { ExclusiveAllocations, openUserNamespaces, userNamespaceProvider, type AllocatedPod } from '../allocation/index.ts';
import { admitHandlers, missingFeaturesForUpdate, resizeFit } from '../pods/admission/index.ts';
import type { EventSink } from '../events/index.ts';
import type { EvictionManager } from '../eviction/index.ts';
import type { PodManager } from '../pods/pod-manager.ts';
import type { RuntimeStatusCache } from '../pods/runtime-status-cache.ts';
import type { ApiStatusCache } from '../pods/api-status/index.ts';
import { PodHandlers } from '../pods/pod-handlers.ts';
import { PodFaults, PodWorkers, WorkQueue, type SyncsInProgress } from '../pods/workers/index.ts';
import { standaloneRuntimeHandler } from '../objects/index.ts';
import { isPodRunning } from '../pods/pod-running.ts';
import type { ProbeManager } from '../probes/index.ts';
import type { PodScheduler } from '../pods/dispatch/index.ts';
import { isStaticPod } from '../../shared/kubernetes/static-pod.ts';
import { MountedVolumes } from '../pods/mounted-volumes.ts';
import type { PodSources, PodUpdate } from '../sources/index.ts';
import type { SyncLoop, SyncLoopHandlers } from '../sync-loop.ts';
import { neededImages } from '../pods/housekeeping/index.ts';
import { startEviction } from './start-eviction.ts';
import { startNodeShutdown } from './start-node-shutdown.ts';
import { createProbeHandlers } from './probe-handlers.ts';
import { createTaskHandlers } from './task-handlers.ts';
import type { PodTimelines } from '../timeline/index.ts';
import type { NodeServices } from './node-services.ts';

/** Upstream's backOffPeriod. */
const backOffMs = 10_000;
/** How long a task may take to reach a step at which it can stop. */
const drainDeadlineMs = 1500;

export interface PodRunnerOptions extends KubeletContext, Allocation {
  readonly runtime: RuntimeServices;
  readonly nodeServices: NodeServices;
  readonly cluster: Cluster | null;
  readonly podManager: PodManager;
  readonly cache: RuntimeStatusCache;
  readonly statuses: ApiStatusCache;
  readonly probes: ProbeManager;
  readonly scheduler: PodScheduler;
  readonly syncs: SyncsInProgress;
  readonly events: EventSink;
  readonly timelines: PodTimelines;
  readonly sources: PodSources;
  readonly syncLoop: Pick<SyncLoop<PodUpdate>, 'onDue' | 'requestHousekeeping'>;
}

export interface PodRunner {
  /** The handlers that the sync loop calls. */
  readonly handlers: SyncLoopHandlers<PodUpdate>;
  readonly eviction: EvictionManager;
  readonly isActive: (pod: Pod) => boolean;
  /** The active pods that were admitted, with their allocated resources. */
  readonly allocatedPods: () => readonly AllocatedPod[];
}

export async function startPodRunner(runner: PodRunnerOptions): Promise<PodRunner> {
  const { options, log, shutdown, threads, runtime, nodeServices, cluster, podManager, cache, statuses, probes, scheduler, syncs, events } =
    runner;
  const { timelines, sources, syncLoop, allocationManager } = runner;
  const { config, flags, featureGates } = options;
  const { pool, pleg } = threads;
  const { images, runtimeState } = runtime;
  const { clusterNode } = nodeServices;
  const sourcesReady = () => sources.areReady();

  const faults = new PodFaults({ events, clock, logger: log('pod-faults'), random: Math.random });
  shutdown.register('pod-faults', async () => faults.close());
  const userNamespaces = userNamespaceProvider(
    await openUserNamespaces({
      rootDir: flags.rootDirectory,
      idsPerPod: config.userNamespaces?.idsPerPod ?? null,
      maxPods: config.maxPods,
      runtimeHandlers: () => nodeServices.facts.current().runtimeHandlers,
      random: Math.random,
      logger: log('user-namespaces'),
    }),
  );
  const exclusive = new ExclusiveAllocations([userNamespaces], log('allocation'));
  shutdown.register('exclusive-allocations', () => exclusive.close());

  // Nothing below waits: callbacks refer to parts that are created further down, and are called only after this function has returned.
  const podObjects =
    cluster && clusterNode
      ? cluster.startPodObjectManager(clusterNode, {
          isRunning: (uid) => isPodRunning(cache.get(uid)),
          onChanged: (uids) => workers.wake(uids),
          events,
        })
      : undefined;
  if (podObjects) images.servePullTokens((request) => podObjects.pullToken(request));
  const runtimeClasses = cluster?.startRuntimeClassManager({
    onAdded: (names) => {
      const waiting = podManager.all().filter(({ spec }) => names.has(spec.runtimeClassName ?? ''));
      workers.wake(waiting.map(podUID));
    },
  });
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
    syncs,
    workQueue,
    events,
    node: () => nodeServices.facts.current(),
    sourcesReady,
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
    onTerminated: () => resizes.retry('pod_terminated'),
    onFinished: (uid) => {
      podObjects?.unregisterPod(uid);
      void exclusive.release(uid);
      nodeCgroups.onPodsChanged();
      syncLoop.requestHousekeeping();
      eviction.onPodFinished(uid);
      nodeShutdown.onPodFinished(uid);
    },
    onForgotten: (uid) => {
      faults.forget(uid);
      resizes.forget(uid);
      housekeeping.collectSoon();
      const currentPod = podManager.get(uid);
      if (!currentPod) return;
      restartedPods.inc({ static: isStaticPod(currentPod) ? 'true' : '' });
      podHandlers.start(currentPod);
    },
  });
  runtimeState.onRecovered(() => workers.wakeFailed());
  shutdown.register('pod-workers', () => withTimeout(drainDeadlineMs, workers.close()));
  pool.setHandlers(
    createTaskHandlers({ images, podManager, cache, events, podObjects, volumes, scheduler, workers, timelines, probes, resizes }),
  );

  const declared = declaredFeatures(featureGates, runtimeState.info);
  const podHandlers = new PodHandlers({
    podManager,
    podWorkers: workers,
    statuses,
    events,
    admitHandlers: admitHandlers({
      ...options,
      node: nodeServices.node,
      declaredFeatures: declared,
      pressureConditions: () => nodeServices.pressure.conditions,
      isShuttingDown: () => nodeServices.shutdown.isShuttingDown,
    }),
    missingFeaturesForUpdate: (before, after) => missingFeaturesForUpdate(before, after, declared),
    resizeFit: resizeFit({
      node: nodeServices.node,
      schedulerPreempts: featureGates.enabled('InPlacePodVerticalScalingSchedulerPreemption'),
    }),
    allocationManager,
    exclusive,
    resizes,
    timelines,
    faults,
    refreshNode: clusterNode ? () => clusterNode.fetch().catch(() => {}) : null,
    onAdmitted: (pod) => podObjects?.registerPod(pod),
    sourcesReady,
    clock,
    logger: log('pod-updates'),
  });
  const mirrorPods =
    cluster && clusterNode
      ? cluster.startMirrorPods(clusterNode, {
          podManager,
          isSynced: () => sources.hasApiSynced(),
          sourcesReady,
          isStaticPodEnding: (fullName, wanted) => workers.isStaticPodEnding(fullName, wanted),
          onMirrorPod: (pod, mirror) => {
            if (statuses.adoptMirrorStatus(podUID(pod), mirror.status)) workers.refreshStatuses([podUID(pod)]);
          },
        })
      : undefined;
  const { machine } = nodeServices;
  const nodeCgroups = new NodeCgroups({
    config,
    featureGates,
    cgroupVersion: threads.host.cgroupVersion,
    machine: () => machine.current(),
    activePods: () => podHandlers.active(),
    syncCgroups: (task) => pool.syncCgroups(task),
    nodeName: runner.nodeName,
    events,
    clock,
    logger: log('node-cgroups'),
  });
  machine.onChanged(() => {
    nodeCgroups.onMachineChanged();
    resizes.retry('periodic_retry');
  });
  nodeCgroups.start();
  const hostProcesses = new HostProcesses({
    config,
    moveProcesses: (task) => pool.moveProcesses(task),
    clock,
    logger: log('host-processes'),
  });
  hostProcesses.start();
  shutdown.register('node-cgroups', async () => {
    nodeCgroups.close();
    hostProcesses.close();
  });
  const { housekeeping, containerDeletor, imageGarbageCollection } = createGarbageCollection({
    ...runner,
    images,
    workers,
    podHandlers,
    mirrorPods,
  });
  const eviction = startEviction({
    ...runner,
    images,
    workers,
    pressure: nodeServices.pressure,
    activePods: () => podHandlers.active(),
    deleteAllUnusedContainers: () => housekeeping.deleteAllUnusedContainers(),
    containersRemovedAtMs: () => housekeeping.containersRemovedAtMs,
    neededImages: () => neededImages({ podManager, statuses, cache, clock }),
  });
  const nodeShutdown = startNodeShutdown({ ...runner, workers, state: nodeServices.shutdown, activePods: () => podHandlers.active() });
  const handlers: SyncLoopHandlers<PodUpdate> = {
    ...workerHandlers(workers),
    ...createProbeHandlers({ probes, workers, statuses }),
    runtimeErrors: () => runtimeState.errors(),
    takeUpdates: () => sources.take(),
    handleUpdate: async (update) => {
      try {
        await podHandlers.handle(update);
      } finally {
        sources.markHandled(update);
        nodeCgroups.onPodsChanged();
      }
    },
    handleContainerChanged: (uid, id) => containerDeletor.deleteContainersInPod(uid, id),
    takeDue: () => workQueue.takeDue(),
    sourcesReady,
    housekeepKnownPods: () => {
      housekeeping.runWithoutAllSources();
      imageGarbageCollection.runIfDue();
    },
    housekeep: () => {
      housekeeping.run();
      imageGarbageCollection.runIfDue();
      const known = new Set([...podManager.uids(), ...workers.uids()]);
      allocationManager.removeOrphanedPods(known);
      exclusive.releaseOrphans((uid) => known.has(uid) || isPodRunning(cache.get(uid)));
    },
  };
  const allocatedPods = () => podHandlers.active().filter((pod) => allocationManager.isAdmitted(podUID(pod)));
  return { handlers, eviction, isActive: (pod) => podHandlers.isActive(pod), allocatedPods };
}

type WorkerHandlers = Pick<SyncLoopHandlers<PodUpdate>, 'refreshStatuses' | 'shouldIgnoreStarts' | 'handlePodSyncs'>;

function workerHandlers(workers: PodWorkers): WorkerHandlers {
  return {
    refreshStatuses: (uids) => workers.refreshStatuses(uids),
    shouldIgnoreStarts: (inspection) => workers.shouldIgnoreStarts(inspection),
    handlePodSyncs: (uids) => workers.wake(uids),
  };
}
