/**
 * The composition root: creates every part after the parts that it needs. The sync loop and the stores come first, because
 * later parts write to them; the loop gets its handlers when it runs. shutdown.ts has the order in which parts stop.
 *
 * A kubelet whose runtime does not answer waits, serves `/healthz` meanwhile and logs the reason; upstream exits.
 */
import { availableParallelism, hostname } from 'node:os';
import { untilAborted } from '../shared/concurrency/until-aborted.ts';
import { withTimeout } from '../shared/concurrency/with-timeout.ts';
import { yieldToEventLoop } from '../shared/concurrency/yield-to-event-loop.ts';
import type { PullTokensApi } from '../shared/contracts/credential-providers.ts';
import type { MainApi } from '../shared/contracts/server/calls.ts';
import type { Pod } from '../shared/kubernetes/api.ts';
import type { Logger } from '../shared/log/logger.ts';
import { systemClock as clock } from '../shared/time/clock.ts';
import { startTracing, tracingStarted } from '../shared/tracing/index.ts';
import { ObjectStore } from './api/index.ts';
import type { KubeletOptions } from './config/options.ts';
import type { ReloadObserver } from './config-reload/index.ts';
import { EventLog } from './events/index.ts';
import { recordHostWarnings, systemOOMEvent, toNodeName, unknownNodeInfo } from './node/index.ts';
import { noPullToken } from './objects/index.ts';
import { neededImages } from './pods/housekeeping/index.ts';
import { PodLifecycleObservers } from './pods/lifecycle/pod-lifecycle-observers.ts';
import { RuntimeStatusCache } from './pods/runtime-status-cache.ts';
import { PodDispatcher } from './pods/dispatch/index.ts';
import { readUnfinishedHooks, removeStaleHookRecords } from './probes/index.ts';
import { setConstantMetrics } from './process/constant-metrics.ts';
import { PodFeed, startHealth, startServer } from './server/index.ts';
import { Shutdown } from './shutdown.ts';
import { configuredSources, SourcesReady, type PodUpdate } from './sources/index.ts';
import { SyncLoop } from './sync-loop.ts';
import { SlowPhases } from './timeline/index.ts';
import { Cluster } from './wiring/cluster.ts';
import type { EarlyThreads } from './wiring/early-threads.ts';
import type { KubeletContext } from './wiring/kubelet-context.ts';
import { startNodeServices } from './wiring/node-services.ts';
import { createPodResourcesLister } from './wiring/create-pod-resources-lister.ts';
import { createPodStores } from './wiring/create-pod-stores.ts';
import { createProbesThread } from './wiring/create-probe-manager.ts';
import { openPodStatuses } from './wiring/open-pod-statuses.ts';
import { startPodRunner } from './wiring/pod-runner.ts';
import { providedLater } from './wiring/provided-later.ts';
import { startRuntimeServices, untilRuntimeAnswers } from './wiring/runtime-services.ts';
import { followNodeAddresses, loadServingCertificate } from './wiring/serving-certificate.ts';
import { startConfigReload } from './wiring/start-config-reload.ts';
import { startNetworkChains } from './wiring/start-network-chains.ts';
import { startSources } from './wiring/start-sources.ts';

/** The process must exit within 5 s of SIGTERM (process/signals.ts); one second of them is for the exit itself. */
const stopDeadlineMs = 4000;

export interface KubeletStart {
  readonly options: KubeletOptions;
  readonly logger: Logger;
  /** Aborted by SIGTERM and SIGINT. */
  readonly signal: AbortSignal;
  /** The threads run already. `runKubelet` closes them. */
  readonly threads: EarlyThreads;
  /** Why the host could not be set up for pods, which makes the node not ready. Default: null, the host is set up. */
  readonly setupProblem?: string | null;
  /** Sets the handler of SIGHUP. */
  readonly setReloadHandler?: (handler: () => void) => void;
  /** Is notified of the reloads that SIGHUP causes. */
  readonly reloadObserver?: ReloadObserver;
  /** Called when everything has started and the sync loop begins. */
  readonly onRunning?: () => void;
}

/** Resolves when every part has stopped after the signal; pods keep running. Rejects when the kubelet can't start. */
export async function runKubelet({
  options,
  logger,
  signal,
  threads,
  setupProblem = null,
  setReloadHandler = () => {},
  reloadObserver = { reloading: () => {}, reloaded: () => {} },
  onRunning,
}: KubeletStart): Promise<void> {
  const log = (component: string): Logger => logger.child({ component });
  const { config, flags, featureGates } = options;
  const nodeName = toNodeName(flags.hostnameOverride, hostname());
  // Shared memory: `snapshot` has the runtime's pods and containers, `usage` what cgroups use, `storage` what volumes and layers use,
  // `claimedVolumes` the claims of these volumes.
  const { state, snapshot, usage, storage, claimedVolumes, host, pleg, pool, stats } = threads;
  const shutdown = new Shutdown(log('kubelet'));
  const podLifecycle = new PodLifecycleObservers(log('pod-workers'));
  const context: KubeletContext = { clock, random: Math.random, options, nodeName, threads, log, shutdown, podLifecycle, signal };

  const heartbeat = state.enterMain();
  startTracing(state.tracing, log('tracing'));
  setConstantMetrics({ nodeName, featureGates, credentialProviderHash: options.credentialProviders.configHash });
  shutdown.register('heartbeat', async () => heartbeat.stop());
  state.watchdog.start(log('threads'));
  shutdown.register('hang-watchdog', async () => state.watchdog.stop());
  shutdown.register('pod-sync', () => pool.close());
  shutdown.register('stats', () => stats.close());
  shutdown.register('pleg', () => pleg.close());
  try {
    const cache = new RuntimeStatusCache();
    const apiPods = new ObjectStore<Pod>();
    const [nodeInfo, provideNodeInfo] = providedLater(() => unknownNodeInfo(nodeName));
    const [pullToken, providePullTokens] = providedLater<PullTokensApi['pullToken']>(async () => noPullToken);
    const [evictionPlan, provideEvictionPlans] = providedLater<MainApi['evictionPlan']>(() =>
      Promise.reject(new Error('the eviction manager starts when the runtime has answered')),
    );
    const syncLoop = new SyncLoop<PodUpdate>({ cache, beat: () => heartbeat.loop(), clock, logger: log('sync-loop') });
    threads.plegNotifications.setReceiver((notification) => syncLoop.onPlegNotification(notification));

    const cluster = await Cluster.connect(context);
    const sourcesReady = new SourcesReady(configuredSources({ ...config, hasAPIServer: cluster !== null }));
    // The first run of each part's code takes about 10 ms. Other work of the thread runs in between.
    await yieldToEventLoop();
    const eventLog = new EventLog({ logger: log('events'), clock });
    const dispatcher = new PodDispatcher({ clock, cores: availableParallelism() });
    const podStores = createPodStores({ ...context, cache, sourcesReady });
    const { podManager, podStates, timelines } = podStores;
    const statusManager = cluster?.startStatusManager({ podManager, apiPods, timelines });
    const events =
      cluster && statusManager
        ? cluster.startEventRecorder(eventLog, dispatcher, {
            statuses: statusManager,
            syncInProgress: (uid) => podStates.syncInProgress(uid),
          })
        : eventLog;
    stats.listeners.systemOOM.add((oom) => events.record(systemOOMEvent(nodeName, oom)));
    const slowPhases = new SlowPhases({ timelines, events, clock, logger: log('pod-timelines') });
    shutdown.register('pod-timelines', async () => slowPhases.close());
    const unfinishedHooks = await readUnfinishedHooks(flags.rootDirectory, log('probes'));
    const probesThread = createProbesThread(context);
    const podStatuses = await openPodStatuses({
      ...context,
      ...podStores,
      cache,
      nodeInfo: { current: nodeInfo },
      probesThread,
      statusManager,
      unfinishedHooks,
    });
    const { probes, statuses, activePods, allocationManager } = podStatuses;
    const podFeed = new PodFeed({ podManager, statuses, sourcesReady: () => sourcesReady.allReady(), clock, logger: log('server') });
    statuses.onChange((uid) => podFeed.onChanged(uid));
    const podResources = createPodResourcesLister({
      options,
      podManager,
      isActive: (pod) => activePods.isActive(pod),
      allocatedPod: (pod) => allocationManager.updatePodFromAllocation(pod),
    });

    const health = startHealth({ config, state, logger: log('health') });
    shutdown.register('health', async () => health?.close());
    const runtime = startRuntimeServices({
      ...context,
      events,
      probesThread,
      probes,
      onProbeResults: (results) => syncLoop.onProbeResults(results),
      onPullWait: (wait) => timelines.pullWait(wait),
      pullToken,
    });
    const server = startServer({
      options,
      state,
      health,
      nodeName,
      snapshot,
      usage,
      storage,
      claimedVolumes,
      timelines: timelines.buffer,
      podManager,
      statuses,
      cache,
      podFeed,
      sourcesReady,
      podResources,
      allocatedPods: () => activePods.listAdmitted(),
      inspectPod: (uid) => pleg.inspectPod(uid),
      imageGcPlan: () => runtime.images.planImageGc(neededImages({ podManager, statuses, cache, clock })),
      evictionPlan,
      probeMetrics: (format) => probesThread.renderMetrics(format),
      runtimeMetrics: (format) => stats.runtimeMetrics(format),
      cluster,
      logger: log('server'),
    });
    shutdown.register('server', () => server.close());
    const servingCertificate = await loadServingCertificate(context, server);
    await untilRuntimeAnswers(runtime, context);
    // Without this wait the first syncs would have no spans.
    await tracingStarted();
    const untilPodsKnown = () => untilAborted(cache.untilComplete(), signal);
    const nodeConditions = { setupProblem, untilPodsKnown, serverListens: server.addresses() };
    const nodeServices = await startNodeServices({ ...context, runtime, events, cluster, ...nodeConditions });
    provideNodeInfo(() => nodeServices.nodeInfo.current());

    const { clusterNode } = nodeServices;
    followNodeAddresses(servingCertificate, cluster, clusterNode);
    const sources = startSources({ ...context, sourcesReady, cluster, clusterNode, statusManager, apiPods, events, syncLoop });
    const node = { nodeServices, nodeInfo: nodeServices.nodeInfo, cluster, providePullTokens };
    const parts = { ...node, cache, runtime, dispatcher, events, sourcesReady, sources, syncLoop };
    const podRunner = await startPodRunner({ ...context, ...podStores, ...podStatuses, ...parts });
    provideEvictionPlans(async (evictionSignal) => JSON.stringify(podRunner.eviction.plan(evictionSignal ?? undefined)));

    await untilPodsKnown();
    void removeStaleHookRecords(flags.rootDirectory, unfinishedHooks, cache, log('probes'));
    await recordHostWarnings(events, { nodeName, config, cgroupVersion: host.cgroupVersion, setupProblem });
    startNetworkChains(context);
    startConfigReload({ ...context, events, cluster, runtime, nodeServices, podRunner, setReloadHandler, reloadObserver });
    shutdown.checkComplete({ isStandalone: cluster === null });
    onRunning?.();
    await syncLoop.run(podRunner.handlers, signal);
  } catch (err) {
    // The signal may abort while parts still start.
    if (!signal.aborted) throw err;
  } finally {
    await withTimeout(stopDeadlineMs, shutdown.run());
  }
}
