/**
 * What makes pods run, wired: their values, what their syncs ask for, the workers that decide when, the updates that begin and end them,
 * and what is cleared away behind them. It is fed by the sync loop, and asks it for nothing but its next turn.
 */
import { podUID } from '../../shared/kubernetes/ids.ts';
import { restartedPods } from '../../shared/metrics/definitions/pods.ts';
import { systemClock as clock } from '../../shared/time/clock.ts';
import { makeCleaners } from './garbage-collection.ts';
import type { Cluster } from './cluster.ts';
import type { KubeletContext } from './kubelet-context.ts';
import { declaredFeatures } from '../node/index.ts';
import type { Observers } from './runtime-services.ts';
import { AllocationManager, admitHandlers, missingFeaturesForUpdate } from '../pods/admission/index.ts';
import type { ContainerDeletor } from '../pods/housekeeping/container-deletor.ts';
import type { EventSink } from '../events/index.ts';
import { PodFaults } from '../pods/workers/pod-faults.ts';
import type { PodManager } from '../pods/pod-manager.ts';
import type { RuntimeStatusCache } from '../pods/runtime-status-cache.ts';
import type { ApiStatusCache } from '../pods/api-status/api-status-cache.ts';
import { PodHandlers } from '../pods/pod-handlers.ts';
import { PodWorkers } from '../pods/workers/pod-workers.ts';
import { standaloneRuntimeHandler } from '../objects/index.ts';
import { isPodRunning } from '../pods/pod-running.ts';
import type { PodScheduler } from '../pods/scheduling/index.ts';
import { isStaticPod } from '../pods/static/static-pod.ts';
import { WorkQueue } from '../pods/workers/work-queue.ts';
import { MountedVolumes } from '../pods/mounted-volumes.ts';
import { withTimeout } from '../../shared/concurrency/with-timeout.ts';
import { createTaskHandlers } from './task-handlers.ts';
import type { NodeServices } from './node-services.ts';

/** Upstream's backOffPeriod. */
const backOffMs = 10_000;
/** What a task may take to come to a place where it can stop. */
const drainDeadlineMs = 1500;

export interface PodRunnerOptions extends KubeletContext {
  readonly observers: Observers;
  readonly thisNode: NodeServices;
  readonly cluster: Cluster | null;
  readonly podManager: PodManager;
  readonly cache: RuntimeStatusCache;
  readonly statuses: ApiStatusCache;
  readonly scheduler: PodScheduler;
  readonly events: EventSink;
  /** The sources, which come after what they feed. */
  readonly sources: { readonly areReady: () => boolean; readonly hasApiSynced: () => boolean };
  /** Asked for a turn. */
  readonly loop: { readonly onDue: () => void; readonly requestHousekeeping: () => void };
}

export interface PodRunner {
  readonly workers: PodWorkers;
  readonly updates: PodHandlers;
  readonly workQueue: WorkQueue;
  readonly containerDeletor: ContainerDeletor;
  readonly housekeep: () => void;
}

export async function startPodRunner(runner: PodRunnerOptions): Promise<PodRunner> {
  const { options, log, shutdown, observers, thisNode, cluster, podManager, cache, statuses, scheduler, events, sources, loop } = runner;
  const { config, flags, featureGates } = options;
  const { membership } = thisNode;

  const values = cluster?.startPodObjectManager({
    isRunning: (uid) => isPodRunning(cache.get(uid)),
    onChanged: (uids) => workers.wake(uids),
    events,
  });
  const runtimeClasses = cluster?.keepRuntimeClasses({
    onAdded: (names) => {
      const waiting = podManager.all().filter(({ spec }) => names.has(spec.runtimeClassName ?? ''));
      workers.wake(waiting.map(podUID));
    },
  });
  const { pool } = runner.threads;
  const volumes = new MountedVolumes(clock);
  pool.setHandlers(
    createTaskHandlers({
      observers,
      podManager,
      cache,
      events,
      values,
      volumes,
      scheduler,
      workers: {
        containersEnded: (uid) => workers.containersEnded(uid),
        beginRestart: (uid, containers) => workers.beginRestart(uid, containers),
        addWaitingReason: (uid, container, waiting) => workers.addWaitingReason(uid, container, waiting),
      },
    }),
  );

  const workQueue = new WorkQueue({ clock, onDue: loop.onDue });
  shutdown.register('work-queue', async () => workQueue.close());
  const workers = new PodWorkers({
    pool,
    inspectPod: (uid, created, sequence) => observers.look(uid, created, sequence),
    cache,
    statuses,
    scheduler,
    workQueue,
    events,
    node: () => thisNode.facts.current(),
    ...(values && { dependenciesReady: (pod) => values.dependenciesReady(pod) }),
    volumes,
    runtimeHandler: (pod) => runtimeClasses?.lookupRuntimeHandler(pod) ?? standaloneRuntimeHandler(pod),
    policy: { resyncIntervalMs: config.syncFrequency, backOffMs },
    clock,
    logger: log('pod-workers'),
    onFailure: () => observers.runtimeState.checkSoon(),
    random: Math.random,
    onFinished: (uid) => {
      values?.unregisterPod(uid);
      loop.requestHousekeeping();
    },
    onForgotten: (uid) => {
      faults.forget(uid);
      housekeeping.collectSoon();
      const wanted = podManager.get(uid);
      if (!wanted) return;
      restartedPods.inc({ static: isStaticPod(wanted) ? 'true' : '' });
      updates.start(wanted);
    },
  });
  observers.connect({ onStatuses: (changed) => workers.refreshStatuses(changed), onRuntimeRecovered: () => workers.wakeFailed() });
  shutdown.register('pod-workers', () => withTimeout(drainDeadlineMs, workers.close()));

  const faults = new PodFaults({ events, clock, logger: log('pod-faults'), random: Math.random });
  shutdown.register('pod-faults', async () => faults.close());
  const allocationManager = await AllocationManager.open({
    rootDir: flags.rootDirectory,
    gates: {
      podLevel: featureGates.enabled('InPlacePodLevelResourcesVerticalScaling'),
      initContainers: featureGates.enabled('InPlacePodVerticalScalingInitContainers'),
    },
    clock,
    logger: log('admission'),
  });
  shutdown.register('admission', () => allocationManager.close());
  const declared = declaredFeatures(featureGates);
  const updates = new PodHandlers({
    podManager,
    podWorkers: workers,
    statuses,
    events,
    admitHandlers: admitHandlers({ ...options, node: thisNode.node, declaredFeatures: declared }),
    missingFeaturesForUpdate: (before, after) => missingFeaturesForUpdate(before, after, declared),
    allocationManager,
    faults,
    refreshNode: membership ? () => membership.fetch().catch(() => {}) : null,
    onAdmitted: (pod) => values?.registerPod(pod),
    sourcesReady: sources.areReady,
    clock,
    logger: log('pod-updates'),
  });
  const mirrors = cluster?.mirror({
    podManager,
    isSynced: sources.hasApiSynced,
    sourcesReady: sources.areReady,
    isStaticPodEnding: (fullName, wanted) => workers.isStaticPodEnding(fullName, wanted),
    onMirrorPod: (pod, mirror) => {
      if (statuses.adoptMirrorStatus(podUID(pod), mirror.status)) workers.refreshStatuses([podUID(pod)]);
    },
  });
  const { housekeeping, containerDeletor } = makeCleaners({ ...runner, workers, updates, mirrors });
  const housekeep = () => {
    housekeeping.run();
    allocationManager.removeOrphanedPods(new Set([...podManager.uids(), ...workers.uids()]));
  };
  return { workers, updates, workQueue, containerDeletor, housekeep };
}
