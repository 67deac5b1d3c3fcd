/**
 * The composition root: every part is made by hand, in the order in which it starts, and ended in the order of the data's flow:
 * sources → sync loop → what makes pods run (wiring/pod-runner.ts) → what is known of the node (wiring/node-services.ts) → the threads that
 * look (wiring/observers.ts) → the server.
 *
 * A runtime that is not there when the kubelet starts is waited for, with `/healthz` up and the log saying so; upstream gives up.
 */
import { availableParallelism, hostname } from 'node:os';
import type { PodUID } from '../shared/kubernetes/ids.ts';
import type { Logger } from '../shared/log/logger.ts';
import { systemClock as clock } from '../shared/time/clock.ts';
import { Cluster } from './wiring/cluster.ts';
import { countConstants } from './process/constant-metrics.ts';
import type { KubeletContext } from './wiring/kubelet-context.ts';
import { yieldToEventLoop } from '../shared/concurrency/yield-to-event-loop.ts';
import { toNodeName } from './node/node-name.ts';
import { recordHostWarnings } from './node/host/report-host.ts';
import { Observers } from './wiring/runtime-services.ts';
import type { KubeletOptions } from './cli/options.ts';
import type { EarlyThreads } from './wiring/early-threads.ts';
import { startPodRunner } from './wiring/pod-runner.ts';
import { EventLog } from './events/index.ts';
import { PodManager } from './pods/pod-manager.ts';
import { RuntimeStatusCache } from './pods/runtime-status-cache.ts';
import { PodScheduler } from './pods/scheduling/index.ts';
import { ApiStatusCache } from './pods/api-status/api-status-cache.ts';
import type { PodWorkers } from './pods/workers/pod-workers.ts';
import { startHealth, startServer } from './server/index.ts';
import { PodSources, SourcesReady, type PodUpdate } from './sources/index.ts';
import { withTimeout } from '../shared/concurrency/with-timeout.ts';
import { Shutdown } from './shutdown.ts';
import { SyncLoop } from './sync-loop.ts';
import { startNodeServices, type NodeServices } from './wiring/node-services.ts';

/** SIGTERM to exit takes 5 s at most: a second of it is for the process itself. */
const stopDeadlineMs = 4000;

export interface KubeletStart {
  readonly options: KubeletOptions;
  readonly logger: Logger;
  /** Aborted by SIGTERM and SIGINT. */
  readonly signal: AbortSignal;
  /** They run already. The kubelet closes them. */
  readonly threads: EarlyThreads;
  /** Called when everything has started and the sync loop begins. */
  readonly onRunning?: () => void;
}

/** Runs until the signal aborts, and resolves when all has stopped; pods keep running. Rejects when the kubelet can't start. */
export async function runKubelet({ options, logger, signal, threads, onRunning }: KubeletStart): Promise<void> {
  const log = (component: string): Logger => logger.child({ component });
  const { config, flags, featureGates } = options;
  const nodeName = toNodeName(flags.hostnameOverride, hostname());
  const { state, snapshot, host } = threads;
  const shutdown = new Shutdown(log('kubelet'));
  const context: KubeletContext = { options, nodeName, threads, log, shutdown, signal };

  const heart = state.enterMain();
  countConstants({ nodeName, featureGates });
  shutdown.register('heartbeat', async () => heart.stop());
  state.watchdog.start(log('threads'));
  shutdown.register('hang-watchdog', async () => state.watchdog.stop());
  shutdown.register('pod-sync', () => threads.pool.close());
  shutdown.register('stats', () => threads.stats.close());
  shutdown.register('pleg', () => threads.pleg.close());
  try {
    // What comes later than those who ask for it.
    let thisNode: NodeServices | null = null;
    let sources: PodSources | null = null;
    let ready: SourcesReady | null = null;
    let podWorkers: PodWorkers | null = null;

    const cache = new RuntimeStatusCache();
    const podManager = new PodManager();
    const cluster = await Cluster.connect(context);
    // What is made here runs for the first time, 10 ms a part: one part a round of the loop.
    await yieldToEventLoop();
    const eventLog = new EventLog({ logger: log('events'), clock });
    const scheduler = new PodScheduler({ clock, cores: availableParallelism() });
    const statusManager = cluster?.writeStatuses(podManager, (uid) => sources?.apiPod(uid));
    const syncUnderWay = (uid: PodUID) => podWorkers?.syncUnderWay(uid);
    const events =
      cluster && statusManager ? cluster.recordEvents(eventLog, scheduler, { statuses: statusManager, syncInProgress: syncUnderWay }) : eventLog;
    const statuses = new ApiStatusCache({
      node: () => thisNode?.facts.current() ?? { hostIPs: [], runtimeName: '' },
      mirrorOf: (pod) => podManager.mirrorOf(pod),
      ...(statusManager && { sink: statusManager }),
      features: {
        restartAllContainers: featureGates.enabled('RestartAllContainersOnContainerExits'),
        podLevelResources: featureGates.enabled('PodLevelResources'),
        podResources: featureGates.enabled('InPlacePodLevelResourcesVerticalScaling'),
        stopSignals: featureGates.enabled('ContainerStopSignals'),
        imageVolumeRefs: featureGates.enabled('ImageVolumeWithDigest'),
      },
      clock,
      logger: log('pod-statuses'),
    });

    const look = (uid: PodUID) => observers.look(uid);
    const health = startHealth({ config, state, logger: log('health') });
    shutdown.register('health', async () => health?.close());
    const pods = { podManager, statuses, cache, look };
    const server = startServer({ options, state, health, nodeName, snapshot, ...pods, cluster, logger: log('server') });
    shutdown.register('server', () => server.close());
    const observers = Observers.start({ ...context, events, cache });
    await observers.untilRuntimeAnswers();
    const node = await startNodeServices({ ...context, observers, events, cluster });
    thisNode = node;

    const sourcesReady = () => sources !== null && ready !== null && ready.allReady() && sources.seenAllSources();
    const runner = await startPodRunner({
      ...context,
      observers,
      thisNode: node,
      cluster,
      podManager,
      cache,
      statuses,
      scheduler,
      events,
      sources: { areReady: sourcesReady, hasApiSynced: () => sources?.hasApiSynced() ?? false },
      loop: { onDue: () => loop.onDue(), requestHousekeeping: () => loop.requestHousekeeping() },
    });
    const { workers } = runner;
    podWorkers = workers;
    const loop = new SyncLoop<PodUpdate>({
      runtimeErrors: () => observers.runtimeState.errors(),
      takeUpdates: () => sources?.take() ?? [],
      handleUpdate: async (update) => {
        try {
          await runner.updates.handle(update);
        } finally {
          ready?.addSource(update.source);
        }
      },
      handlePodSyncs: (uids) => workers.wake(uids),
      shouldIgnoreStarts: (inspection) => workers.shouldIgnoreStarts(inspection),
      handleContainerChanged: (uid, id) => runner.containerDeletor.deleteContainersInPod(uid, id),
      handleProbeResults: (results) => workers.wake(new Set(results.map((result) => result.podUID))),
      takeDue: () => runner.workQueue.takeDue(),
      sourcesReady,
      housekeep: runner.housekeep,
      beat: () => heart.loop(),
      clock,
      logger: log('sync-loop'),
    });
    observers.connect({
      onLifecycleEvents: (seen, inspection) => loop.onLifecycleEvents(seen, inspection),
      onProbeResults: (results) => loop.onProbeResults(results),
    });

    const { membership } = node;
    sources = PodSources.start({
      nodeName,
      staticPodPath: config.staticPodPath,
      fileCheckFrequencyMs: config.fileCheckFrequency,
      staticPodURL: config.staticPodURL,
      staticPodURLHeader: config.staticPodURLHeader,
      httpCheckFrequencyMs: config.httpCheckFrequency,
      api:
        membership && cluster
          ? { client: cluster.client, nodeSynced: membership.store.untilSynced(), onListed: () => statusManager?.onListed() }
          : null,
      decode: (task) => threads.pool.decodeManifest(task),
      onReport: () => loop.onSourceReport(),
      onEvent: (event) => events.record(event),
      clock,
      logger: log('sources'),
    });
    ready = new SourcesReady(sources.sources);
    shutdown.register('sources', async () => sources?.close());

    await observers.untilFirstList();
    await recordHostWarnings(events, { nodeName, config, cgroupVersion: host.cgroupVersion });
    shutdown.checkComplete({ isStandalone: cluster === null });
    onRunning?.();
    await loop.run(signal);
  } catch (err) {
    // Told to stop while it was still starting.
    if (!signal.aborted) throw err;
  } finally {
    await withTimeout(stopDeadlineMs, shutdown.run());
  }
}
