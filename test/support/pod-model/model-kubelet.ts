/**
 * A kubelet without threads, network and cgroups: the real sync loop, pod config, handlers, workers, dispatcher, housekeeping, statuses, probe results
 * and status writes of main, the real pleg and the real tasks of the sync pool, put together as src/main/wiring does. What it lives on is modelled.
 */
import { VolumeManager } from '../../../src/main/volumes/index.ts';
import { readFileSync } from 'node:fs';
import { AllocationManager, ResizeConditions } from '../../../src/main/allocation/index.ts';
import { resizeFit } from '../../../src/main/pods/admission/index.ts';
import { MountedVolumes } from '../../../src/main/pods/mounted-volumes.ts';
import { standaloneRuntimeHandler } from '../../../src/main/objects/runtime-class-manager.ts';
import { ApiStatusCache } from '../../../src/main/pods/api-status/index.ts';
import { ContainerDeletor, Housekeeping } from '../../../src/main/pods/housekeeping/index.ts';
import { PodLifecycleObservers } from '../../../src/main/pods/lifecycle/pod-lifecycle-observers.ts';
import { PodStates } from '../../../src/main/pods/lifecycle/pod-states.ts';
import { ActivePods } from '../../../src/main/pods/active-pods.ts';
import { ResizeAdmission } from '../../../src/main/pods/resize-admission.ts';
import { PodHandlers } from '../../../src/main/pods/pod-handlers.ts';
import { PodManager } from '../../../src/main/pods/pod-manager.ts';
import { RuntimeStatusCache } from '../../../src/main/pods/runtime-status-cache.ts';
import { PodDispatcher } from '../../../src/main/pods/dispatch/index.ts';
import { PodFaults, PodWorkers, WorkQueue } from '../../../src/main/pods/workers/index.ts';
import { ProbeManager } from '../../../src/main/probes/index.ts';
import { PodConfig, SourcesReady } from '../../../src/main/sources/pod-config.ts';
import type { PodSource, PodUpdate } from '../../../src/main/sources/merge-pods.ts';
import { StatusManager } from '../../../src/main/pods/status/index.ts';
import { SyncLoop } from '../../../src/main/sync-loop.ts';
import { createProbeHandlers } from '../../../src/main/wiring/probe-handlers.ts';
import type { KubeletContext } from '../../../src/main/wiring/kubelet-context.ts';
import { startResizes } from '../../../src/main/wiring/start-resizes.ts';
import { createTaskHandlers } from '../../../src/main/wiring/task-handlers.ts';
import { PodTimelines } from '../../../src/main/timeline/index.ts';
import type { ProbeResult } from '../../../src/shared/contracts/probes.ts';
import type { ContainerID, PodUID } from '../../../src/shared/kubernetes/ids.ts';
import { createRuntimeSnapshot, RuntimeSnapshotReader, RuntimeSnapshotWriter } from '../../../src/shared/state/runtime-snapshot.ts';
import { timelineCapacity, timelineTable } from '../../../src/shared/timeline/timeline-table.ts';
import type { PlegRuntime } from '../../../src/workers/pleg/pleg-runtime.ts';
import { Pleg } from '../../../src/workers/pleg/pleg.ts';
import { aNode } from '../pods/runtime-config-inputs.ts';
import { modelLogger as logger } from './model-log.ts';
import { Life, MortalClock } from './model-clock.ts';
import { allocatable } from './model-host.ts';
import { collectGarbage, removeDead, taskDependencies, type ModelHost } from './model-host.ts';
import { ModelPool } from './model-pool.ts';
import { ModelProbes } from './model-probes.ts';

const noStream: PlegRuntime['events'] = async function* () {};

const gone = async () => ({ outcome: 'failed', message: 'the model has no volumes thread' }) as const;
const noVolumesThread = { publishVolume: gone, unpublishVolume: gone };

/** The gates InPlacePodLevelResourcesVerticalScaling and InPlacePodVerticalScalingInitContainers. */
const gates = { podLevel: true, initContainers: true };

const enabledGates: ReadonlySet<string> = new Set(['InPlacePodLevelResourcesVerticalScaling', 'PodLevelResources']);

/** What the wiring of a model reads of the kubelet's context: a host with cgroup v1 and the default configuration. */
function modelContext(
  clock: MortalClock,
  podLifecycle: PodLifecycleObservers,
): Pick<KubeletContext, 'clock' | 'options' | 'log' | 'threads' | 'shutdown' | 'podLifecycle'> {
  const config = { cpuManagerPolicy: 'none', memoryManagerPolicy: 'None', memorySwap: { swapBehavior: '' } };
  const featureGates = { enabled: (gate: string) => enabledGates.has(gate) };
  const parts = { options: { config, featureGates }, threads: { host: { cgroupVersion: 1 } }, shutdown: { register: () => {} } };
  return { clock, podLifecycle, log: () => logger, ...(parts as unknown as Pick<KubeletContext, 'options' | 'threads' | 'shutdown'>) };
}

export class ModelKubelet {
  readonly #life: Life;
  readonly #stop = new AbortController();
  readonly config: PodConfig;
  readonly workers: PodWorkers;
  readonly podStates: PodStates;
  readonly pool: ModelPool;
  readonly onProbeResults: (results: readonly ProbeResult[]) => void;
  readonly #statusManager: StatusManager;
  readonly #pleg: Pleg;
  readonly #allocationManager: AllocationManager;

  static async start(host: ModelHost, sources: readonly PodSource[]): Promise<ModelKubelet> {
    const life = new Life();
    const allocationManager = await AllocationManager.open({
      rootDir: host.checkpoints.folder,
      gates,
      clock: new MortalClock(host.clock, life),
      logger,
      read: async (path) => readFileSync(path),
      write: host.checkpoints.writeFor(life),
      sync: async () => {},
    });
    return new ModelKubelet(host, sources, life, allocationManager);
  }

  private constructor(host: ModelHost, sources: readonly PodSource[], life: Life, allocationManager: AllocationManager) {
    this.#life = life;
    this.#allocationManager = allocationManager;
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
    const resizeConditions = new ResizeConditions(clock);
    const statuses = new ApiStatusCache({
      node: () => node,
      mirrorOf: (pod) => podManager.mirrorOf(pod),
      sink: statusManager,
      probes,
      resizeConditions,
      actuatedPod: (pod) => allocationManager.actuatedPod(pod),
      features: {
        restartGates: { containerRestartRules: true, restartAllContainersOnContainerExits: true },
        podLevelResources: true,
        podResources: true,
      },
      clock,
      logger,
    });
    const dispatcher = new PodDispatcher({ clock, cores: 4 });
    const podLifecycle = new PodLifecycleObservers(logger);
    const podStates = new PodStates(sourcesReady);
    const activePods = new ActivePods({ podManager, podStates, statuses, allocationManager });
    const volumes = new MountedVolumes(clock);
    const faults = new PodFaults({ events: { record: () => {} }, clock, logger, random });
    const workQueue = new WorkQueue({ clock, onDue: () => syncLoop.onDue() });
    const fits = resizeFit({ node: () => ({ metadata: { name: 'node-1' }, status: { allocatable } }), schedulerPreempts: false });
    this.pool = new ModelPool({ kubelet: life, clock, dependencies: (thread) => taskDependencies(host, life, thread) });
    const workers: PodWorkers = new PodWorkers({
      pool: this.pool,
      inspectPod: (uid, created, sequence) => this.#pleg.inspectPod(uid, structuredClone(created), sequence).then(structuredClone),
      cache,
      statuses,
      dispatcher,
      probes,
      podStates,
      workQueue,
      events,
      node: () => node,
      dependenciesReady: () => true,
      volumes,
      timelines,
      runtimeHandler: standaloneRuntimeHandler,
      exclusive: { restore: async () => undefined },
      allocation: allocationManager,
      policy: { resyncIntervalMs: 60_000, backOffMs: 10_000 },
      clock,
      logger,
      onFailure: () => {},
      random,
      observers: podLifecycle,
    });
    this.workers = workers;
    const admission = new ResizeAdmission({ activePods, podWorkers: workers, resizeFit: fits, events, logger });
    const resizes = startResizes({
      ...modelContext(clock, podLifecycle),
      allocationManager,
      resizeConditions,
      podManager,
      podStates,
      workers,
      admission,
      workQueue,
      cache,
      timelines,
      sourcesReady: ready,
      events,
    });
    this.podStates = podStates;
    const images = { ensureImage: async ({ image }: { image: string }) => ({ outcome: 'present', imageRef: `sha256:${image}` }) as const };
    this.pool.setHandlers(
      createTaskHandlers({
        clock,
        images,
        podManager,
        cache,
        events,
        podObjects: undefined,
        volumes,
        dispatcher,
        volumeManager: new VolumeManager({ objects: undefined, thread: noVolumesThread, wake: () => {}, clock }),
        workers,
        timelines,
        probes,
        resizes,
      }),
    );
    const handlers: PodHandlers = new PodHandlers({
      podManager,
      podWorkers: workers,
      podStates,
      activePods,
      statuses,
      events,
      admitHandlers: [fits],
      exclusive: { isNeededBy: () => false, allocate: async () => null },
      resizes,
      allocationManager,
      runtimeStatus: (uid) => cache.get(uid),
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
      podStates,
      cache,
      statuses,
      start: (pod) => handlers.start(pod),
      activePods: () => activePods.list(),
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
      terminated: (uid) => volumes.removeDesired(uid),
      finished: (uid) => {
        volumes.removePod(uid);
        syncLoop.requestHousekeeping();
      },
      forgotten: (uid) => {
        faults.forget(uid);
        housekeeping.collectSoon();
        const wanted = podManager.get(uid);
        if (wanted) handlers.start(wanted);
      },
    });
    const deletor = new ContainerDeletor({
      cache,
      shouldContentBeRemoved: (uid) => podStates.shouldContentBeRemoved(uid),
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
          housekeep: () => {
            housekeeping.run();
            allocationManager.removeOrphanedPods(new Set([...podManager.uids(), ...podStates.uids()]));
          },
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
    await this.#allocationManager.close();
    await this.#statusManager.close();
    this.die();
  }
}
