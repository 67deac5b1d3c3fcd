/**
 * A kubelet without threads, network and cgroups: the parts that src/main/wiring starts for pods, on a clock, a runtime, an API server and threads that are
 * modelled. Its counterpart is src/main/kubelet.ts.
 */
import { ExclusiveAllocations } from '../../../src/main/allocation/index.ts';
import { PodDispatcher } from '../../../src/main/pods/dispatch/index.ts';
import type { PodStates } from '../../../src/main/pods/lifecycle/pod-states.ts';
import { RuntimeStatusCache } from '../../../src/main/pods/runtime-status-cache.ts';
import { listPodDirectories } from '../../../src/main/process/pod-directories.ts';
import { SourcesReady, type PodSource, type PodUpdate } from '../../../src/main/sources/index.ts';
import { SyncLoop, type SyncLoopHandlers } from '../../../src/main/sync-loop.ts';
import { createAdmission } from '../../../src/main/wiring/create-admission.ts';
import { createPodStores } from '../../../src/main/wiring/create-pod-stores.ts';
import { createVolumeManager } from '../../../src/main/wiring/create-volume-manager.ts';
import { openPodStatuses } from '../../../src/main/wiring/open-pod-statuses.ts';
import { startPodObjects } from '../../../src/main/wiring/start-pod-objects.ts';
import { startPods } from '../../../src/main/wiring/start-pods.ts';
import { startStatusManager } from '../../../src/main/wiring/start-status-manager.ts';
import { untilAborted } from '../../../src/shared/concurrency/until-aborted.ts';
import type { RecordedEvent } from '../../../src/shared/contracts/event.ts';
import type { ProbeResult } from '../../../src/shared/contracts/probes.ts';
import { aNode } from '../pods/runtime-config-inputs.ts';
import { Life, MortalClock } from './model-clock.ts';
import { modelContext, type ModelContext } from './model-context.ts';
import type { ModelHost } from './model-host.ts';
import { modelLogger as logger } from './model-log.ts';
import { ModelProbes } from './model-probes.ts';
import { ModelSources } from './model-sources.ts';
import { ModelThreads } from './model-threads.ts';

interface ModelParts {
  readonly life: Life;
  readonly stop: AbortController;
  readonly context: ModelContext;
  readonly syncLoop: SyncLoop<PodUpdate>;
  readonly threads: ModelThreads;
  readonly sources: ModelSources;
  readonly podStates: PodStates;
  readonly cache: RuntimeStatusCache;
  readonly handlers: SyncLoopHandlers<PodUpdate>;
}

export class ModelKubelet {
  readonly #parts: ModelParts;
  readonly #running: Promise<void>;

  private constructor(parts: ModelParts) {
    this.#parts = parts;
    this.#running = this.#run(parts);
  }

  static async start(host: ModelHost, configuredSources: readonly PodSource[]): Promise<ModelKubelet> {
    const life = new Life();
    const stop = new AbortController();
    const clock = new MortalClock(host.clock, life);
    const context = modelContext(host.rootDir, clock, stop.signal);
    const cache = new RuntimeStatusCache();
    const syncLoop = new SyncLoop<PodUpdate>({ cache, beat: () => {}, clock, logger });
    const threads = new ModelThreads(host, life, clock, (notification) => syncLoop.onPlegNotification(notification));
    const sourcesReady = new SourcesReady(configuredSources);
    const dispatcher = new PodDispatcher({ clock, cores: 4 });
    const podStores = createPodStores({ ...context, cache, sourcesReady });
    const statusManager = startStatusManager({ ...context, ...podStores, client: host.client(life), apiPods: host.apiPods });
    const onResults = (results: readonly ProbeResult[]) => {
      for (const result of results) host.onProbeResult(result);
      if (life.isAlive) syncLoop.onProbeResults(results);
    };
    const probesThread = new ModelProbes({ clock, outcome: host.outcome, onResults });
    const nodeInfo = { current: () => aNode };
    const disk = host.checkpoints.diskOf(life);
    const podStatuses = await openPodStatuses({
      ...context,
      ...podStores,
      cache,
      nodeInfo,
      probesThread,
      statusManager,
      unfinishedHooks: [],
      disk,
    });
    const events = { record: (event: RecordedEvent) => life.isAlive && host.onEvent(event) };
    const sources = new ModelSources(sourcesReady, { onReport: () => syncLoop.onSourceReport(), onEvent: () => {}, clock, logger });
    const runtimeState = {
      info: null,
      errors: () => (host.calls.isUp ? null : 'the runtime is down'),
      checkSoon: () => {},
      onRecovered: () => () => {},
    };
    const parts = {
      ...context,
      ...podStores,
      ...podStatuses,
      cache,
      threads,
      runtime: { images: threads.images, runtimeState },
      nodeInfo,
      nodeServices: nodeServicesOf(host, life),
      cluster: null,
      providePullTokens: () => {},
      dispatcher,
      events,
      sources,
      sourcesReady,
      syncLoop,
      exclusiveAllocations: new ExclusiveAllocations([], logger),
      listPodDirectories: () => listPodDirectories(host.rootDir),
    };
    const volumes = createVolumeManager({
      ...context,
      objects: undefined,
      attachments: undefined,
      thread: threads.volumes,
      getToken: () => Promise.reject(new Error('the model has no tokens')),
      nodeLabels: () => ({}),
      events,
      claimedVolumes: { put: () => {}, removePod: () => {} },
    });
    const { handlers } = startPods({ ...parts, ...startPodObjects(parts), ...volumes, podAdmission: createAdmission(parts) });
    return new ModelKubelet({ life, stop, context, syncLoop, threads, sources, podStates: podStores.podStates, cache, handlers });
  }

  async #run({ stop, cache, syncLoop, handlers }: ModelParts): Promise<void> {
    await untilAborted(cache.untilComplete(), stop.signal).catch(() => {});
    await syncLoop.run(handlers, stop.signal);
  }

  get sources(): ModelSources {
    return this.#parts.sources;
  }

  get podStates(): PodStates {
    return this.#parts.podStates;
  }

  /** All threads of the sync pool die. */
  loseThreads(): void {
    this.#parts.threads.pool.loseThreads();
  }

  onProbeResults(results: readonly ProbeResult[]): void {
    const { life, syncLoop } = this.#parts;
    if (life.isAlive) syncLoop.onProbeResults(results);
  }

  /** As SIGKILL does. */
  die(): void {
    const { life, stop, threads } = this.#parts;
    life.end();
    stop.abort(new Error('killed'));
    threads.end();
  }

  /** As SIGTERM does: no step stays half done. */
  async shutDown(): Promise<void> {
    const { stop, context } = this.#parts;
    stop.abort(new Error('SIGTERM'));
    await this.#running;
    await context.shutdown.run();
    this.die();
  }
}

function nodeServicesOf({ machine }: ModelHost, life: Life) {
  return {
    clusterNode: null,
    machine: machine.watchOf(life),
    node: () => ({ metadata: { name: aNode.nodeName }, status: { allocatable: machine.allocatable } }),
    pressure: { conditions: new Set<never>() },
    shutdown: { isShuttingDown: false },
  };
}
