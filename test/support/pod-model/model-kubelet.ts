/**
 * A kubelet without threads, network and cgroups: the real sync loop, pod config, handlers, workers, scheduler, housekeeping, statuses, probe results
 * and status writes of main, the real pleg and the real tasks of the sync pool, put together as src/main/wiring does. What it lives on is modelled.
 */
import { asAllocated } from '../../../src/main/allocation/index.ts';
import { MountedVolumes } from '../../../src/main/pods/mounted-volumes.ts';
import { standaloneRuntimeHandler } from '../../../src/main/objects/runtime-class-manager.ts';
import { ApiStatusCache } from '../../../src/main/pods/api-status/index.ts';
import { ContainerDeletor, Housekeeping } from '../../../src/main/pods/housekeeping/index.ts';
import { PodLifecycleObservers } from '../../../src/main/pods/lifecycle/pod-lifecycle-observers.ts';
import { PodHandlers } from '../../../src/main/pods/pod-handlers.ts';
import { PodManager } from '../../../src/main/pods/pod-manager.ts';
import { RuntimeStatusCache } from '../../../src/main/pods/runtime-status-cache.ts';
import { PodScheduler } from '../../../src/main/pods/dispatch/index.ts';
import { PodFaults, PodWorkers, SyncsInProgress, WorkQueue } from '../../../src/main/pods/workers/index.ts';
import { ProbeManager } from '../../../src/main/probes/index.ts';
import { PodConfig, SourcesReady } from '../../../src/main/sources/pod-config.ts';
import type { PodSource, PodUpdate } from '../../../src/main/sources/merge-pods.ts';
import { StatusManager } from '../../../src/main/pods/status/index.ts';
import { SyncLoop } from '../../../src/main/sync-loop.ts';
import { createProbeHandlers } from '../../../src/main/wiring/probe-handlers.ts';
import { createTaskHandlers } from '../../../src/main/wiring/task-handlers.ts';
import { PodTimelines } from '../../../src/main/timeline/index.ts';
import type { ProbeResult } from '../../../src/shared/contracts/probes.ts';
import type { Pod } from '../../../src/shared/kubernetes/api.ts';
import type { ContainerID, PodUID } from '../../../src/shared/kubernetes/ids.ts';
import { createRuntimeSnapshot, RuntimeSnapshotReader, RuntimeSnapshotWriter } from '../../../src/shared/state/runtime-snapshot.ts';
import { timelineCapacity, timelineTable } from '../../../src/shared/timeline/timeline-table.ts';
import type { PlegRuntime } from '../../../src/workers/pleg/pleg-runtime.ts';
import { Pleg } from '../../../src/workers/pleg/pleg.ts';
import { aNode } from '../pods/runtime-config-inputs.ts';
import { modelLogger as logger } from './model-log.ts';
import { Life, MortalClock } from './model-clock.ts';
import { collectGarbage, removeDead, taskDependencies, type ModelHost } from './model-host.ts';
import { ModelPool } from './model-pool.ts';
import { ModelProbes } from './model-probes.ts';

const noStream: PlegRuntime['events'] = async function* () {};

export class ModelKubelet {
  readonly #life = new Life();
  readonly #stop = new AbortController();
  readonly config: PodConfig;
  readonly workers: PodWorkers;
  readonly pool: ModelPool;
  readonly onProbeResults: (results: readonly ProbeResult[]) => void;
  readonly #statusManager: StatusManager;
  readonly #pleg: Pleg;

  constructor(host: ModelHost, sources: readonly PodSource[]) {
    const life = this.#life;
    const clock = new MortalClock(host.clock, life);
    const random = () => 0.5;
    const cache = new RuntimeStatusCache();
    const podManager = new PodManager();
    const timelines = new PodTimelines({ buffer: timelineTable.create(timelineCapacity(20)), clock, logger });
    const events = {
      record: ({ object, reason, message }: { object: { uid?: string }; reason: string; message: string }) =>
        host.onEvent({ reason, message, podUID: object.uid ?? '' }),
    };
    const syncLoop = new SyncLoop<PodUpdate>({ cache, beat: () => {}, clock, logger });
    this.config = new PodConfig({ sources, onReport: () => syncLoop.onSourceReport(), onEvent: () => {}, clock, logger });
    const ready = new SourcesReady(sources);
    const sourcesReady = () => ready.allReady();
    const statusManager = new StatusManager({
      client: host.client(life),
      apiPod: host.apiPod,
      podManager,
      timelines,
      clock,
      logger,
      random,
    });
    this.#statusManager = statusManager;
    const probes = new ProbeManager({
      runtimeStatus: (uid) => cache.get(uid),
      forgetsOnRestart: false,
      gates: { H2CContainerProbe: false, GRPCContainerProbeTLS: false },
      clock,
      logger,
    });
    const node = { ...aNode, networkReady: true };
    const statuses = new ApiStatusCache({
      node: () => node,
      mirrorOf: (pod) => podManager.mirrorOf(pod),
      sink: statusManager,
      probes,
      features: { restartGates: { containerRestartRules: true, restartAllContainersOnContainerExits: true } },
      clock,
      logger,
    });
    const scheduler = new PodScheduler({ clock, cores: 4 });
    const podLifecycle = new PodLifecycleObservers(logger);
    const syncs = new SyncsInProgress();
    const volumes = new MountedVolumes(clock);
    const faults = new PodFaults({ events: { record: () => {} }, clock, logger, random });
    const workQueue = new WorkQueue({ clock, onDue: () => syncLoop.onDue() });
    const allocationManager = {
      isAdmitted: (uid: PodUID) => host.admitted.has(uid),
      setAllocatedResources: (pod: Pod) => void host.admitted.add(pod.metadata.uid),
      updatePodFromAllocation: asAllocated,
      countedPod: asAllocated,
      removePod: (uid: PodUID) => void host.admitted.delete(uid),
    };
    this.pool = new ModelPool({ kubelet: life, clock, dependencies: (thread) => taskDependencies(host, life, thread) });
    const workers: PodWorkers = new PodWorkers({
      pool: this.pool,
      inspectPod: (uid, created, sequence) => this.#pleg.inspectPod(uid, structuredClone(created), sequence).then(structuredClone),
      cache,
      statuses,
      scheduler,
      probes,
      syncs,
      workQueue,
      events,
      node: () => node,
      sourcesReady,
      dependenciesReady: () => true,
      volumes,
      timelines,
      runtimeHandler: standaloneRuntimeHandler,
      exclusive: { restore: async () => undefined },
      allocation: { actuated: () => undefined },
      resizes: { observe: () => {}, onError: () => {} },
      policy: { resyncIntervalMs: 60_000, backOffMs: 10_000 },
      clock,
      logger,
      onFailure: () => {},
      random,
      observers: podLifecycle,
    });
    this.workers = workers;
    const images = { ensureImage: async ({ image }: { image: string }) => ({ outcome: 'present', imageRef: `sha256:${image}` }) as const };
    this.pool.setHandlers(
      createTaskHandlers({
        images,
        podManager,
        cache,
        events,
        podObjects: undefined,
        volumes,
        scheduler,
        workers,
        timelines,
        probes,
        resizes: { onActuated: () => {}, recordActuated: async () => {} },
      }),
    );
    const handlers: PodHandlers = new PodHandlers({
      podManager,
      podWorkers: workers,
      statuses,
      events,
      admitHandlers: [],
      exclusive: { isNeededBy: () => false, allocate: async () => null },
      resizeFit: () => null,
      resizes: { onAdded: () => {}, onUpdated: () => {}, retry: () => {} },
      allocationManager,
      timelines,
      faults,
      refreshNode: null,
      sourcesReady,
      clock,
      logger,
    });
    const snapshotBuffer = createRuntimeSnapshot(50);
    const snapshot = new RuntimeSnapshotReader(snapshotBuffer);
    const housekeeping: Housekeeping = new Housekeeping({
      podManager,
      podWorkers: workers,
      cache,
      statuses,
      start: (pod) => handlers.start(pod),
      activePods: () => handlers.active(),
      inspectPod: (uid) => this.#pleg.inspectPod(uid),
      listPodDirectories: async () => [],
      listPodCgroups: async () => [],
      collectContainers: async (request) => life.guard(collectGarbage(host, snapshot, request)),
      gcPolicy: { minAgeMs: 0, maxPerPodContainer: 1, maxContainers: -1 },
      nodeName: 'node-1',
      events: { record: () => {} },
      clock,
      logger,
    });
    podLifecycle.register({
      name: 'model',
      finished: () => syncLoop.requestHousekeeping(),
      forgotten: (uid) => {
        faults.forget(uid);
        housekeeping.collectSoon();
        const wanted = podManager.get(uid);
        if (wanted) handlers.start(wanted);
      },
    });
    const deletor = new ContainerDeletor({
      cache,
      shouldContentBeRemoved: (uid) => workers.shouldContentBeRemoved(uid),
      removeContainers: async (ids) => {
        for (const id of ids) removeDead(host, id);
      },
      maxDeadPerContainer: 1,
      logger,
    });
    const post = (results: readonly ProbeResult[]) => {
      if (life.isAlive) syncLoop.onProbeResults(results);
    };
    this.onProbeResults = post;
    const modelProbes = new ModelProbes({
      clock,
      outcome: host.outcome,
      onResults: (results) => {
        for (const result of results) host.onProbeResult(result);
        post(results);
      },
    });
    probes.connect(modelProbes);
    this.#pleg = new Pleg({
      runtime: host.calls.forPleg(life, host.events ?? noStream),
      snapshot: new RuntimeSnapshotWriter(snapshotBuffer),
      post: (message) => setImmediate(() => life.isAlive && syncLoop.onPlegNotification(structuredClone(message))),
      relistPeriodMs: 1000,
      useEventStream: host.events !== null,
      onListing: () => {},
      onListed: () => {},
      onRelisted: () => {},
      readMessage: async () => '',
      clock,
      logger,
    });
    const run = () =>
      syncLoop.run(
        {
          runtimeErrors: () => (host.calls.isUp ? null : 'the runtime is down'),
          refreshStatuses: (uids) => workers.refreshStatuses(uids),
          shouldIgnoreStarts: (inspection) => workers.shouldIgnoreStarts(inspection),
          takeUpdates: () => this.config.take(),
          handleUpdate: async (update) => {
            await handlers.handle(update);
            ready.addSource(update.source);
          },
          handlePodSyncs: (uids) => workers.wake(uids),
          handleContainerChanged: (uid: PodUID, id: ContainerID) => deletor.deleteContainersInPod(uid, id),
          ...createProbeHandlers({ probes, workers, statuses }),
          takeDue: () => workQueue.takeDue(),
          sourcesReady,
          housekeep: () => housekeeping.run(),
          housekeepKnownPods: () => housekeeping.runWithoutAllSources(),
        },
        this.#stop.signal,
      );
    void statusManager.run(this.#stop.signal);
    void cache.untilComplete().then(() => (life.isAlive ? run() : undefined));
  }

  /** As SIGKILL does. */
  die(): void {
    this.#life.end();
    this.#stop.abort(new Error('killed'));
    void this.#pleg.close().catch(() => {});
  }

  /** As SIGTERM does: no step stays half done. */
  async shutDown(): Promise<void> {
    await this.workers.close();
    await this.#statusManager.close();
    this.die();
  }
}
