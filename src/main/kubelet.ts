/**
 * The composition root: every part is made here, by hand, in the order in which it starts, and ended in the order of the data's flow:
 * sources → sync loop → pod workers → sync pool → the threads that look → the server.
 *
 * A runtime that is not there when the kubelet starts is waited for, with `/healthz` up and the log saying so; upstream gives up.
 */
import { availableParallelism, hostname } from 'node:os';
import type { PlegMessage } from '../shared/contracts/pleg.ts';
import type { Logger } from '../shared/log/logger.ts';
import { podUID, type PodUID } from '../shared/kubernetes/ids.ts';
import { restartedPods } from '../shared/metrics/definitions/pods.ts';
import { HeartbeatsReader } from '../shared/state/heartbeats.ts';
import { setRuntimeCgroupDriver } from '../shared/state/runtime-cgroup-driver.ts';
import { systemClock as clock } from '../shared/time/clock.ts';
import { Cluster } from './cluster.ts';
import { countCgroupVersion, countConstants } from './constant-metrics.ts';
import { declaredFeatures, LocalNode, threadErrors, type NodeMembership } from './node/index.ts';
import { NodeFactsSource } from './node/node-facts.ts';
import { nodeAllocatable, nodeCapacity, resourceSettings } from './node/node-resources.ts';
import { RuntimeState } from './node/runtime-state.ts';
import type { KubeletStart } from './options.ts';
import { AdmissionJournal, admitHandlers, changeProblem } from './pods/admission/index.ts';
import { DeadContainers } from './pods/dead-containers.ts';
import { EventLog } from './pods/events.ts';
import { Housekeeping } from './pods/housekeeping.ts';
import { listPodDirectories } from './pods/pod-directories.ts';
import { PodManager } from './pods/pod-manager.ts';
import { PodStartLatency } from './pods/pod-start-latency.ts';
import { PodStatusCache } from './pods/pod-status-cache.ts';
import { PodStatuses } from './pods/pod-statuses.ts';
import { PodUpdates } from './pods/pod-updates.ts';
import { PodWorkers } from './pods/pod-workers.ts';
import { standaloneRuntimeHandler } from './pods/runtime-classes.ts';
import { runsSomething } from './pods/runs-something.ts';
import { StartAdmission } from './pods/start-admission.ts';
import { startRequest } from './pods/start-request.ts';
import { isStaticPod } from './pods/static-pod.ts';
import { TurnPace } from './pods/turn-pace.ts';
import { WorkQueue } from './pods/work-queue.ts';
import { reportHost } from './node/report-host.ts';
import { PodSources, SourcesReady, type PodUpdate } from './sources/index.ts';
import { startServer } from './server/index.ts';
import { StopOrder, untilAborted, within } from './stop-order.ts';
import { SyncLoop } from './sync-loop.ts';
import { imagesSettings } from './thread-settings.ts';
import { ImagesThread } from './threads/images-thread.ts';
import { ProbesThread } from './threads/probes-thread.ts';

/** Upstream's backOffPeriod. */
const backOffMs = 10_000;
/** SIGTERM to exit takes 5 s at most: a second of it is for the process itself. */
const stopDeadlineMs = 4000;
/** What a task may take to come to a place where it can stop. */
const drainDeadlineMs = 1500;

/** Runs until the signal aborts, and resolves when all has stopped; pods keep running. Rejects when the kubelet can't start. */
export async function runKubelet({ options, logger, signal, first }: KubeletStart): Promise<void> {
  const log = (component: string): Logger => logger.child({ component });
  const { config, flags } = options;
  const nodeName = (flags.hostnameOverride === '' ? hostname() : flags.hostnameOverride).trim().toLowerCase();
  const { state, snapshot, host, pleg, stats, pool } = first;
  const stops = new StopOrder(log('kubelet'));

  const heart = state.enterMain();
  countConstants({ nodeName, featureGates: options.featureGates });
  stops.add('heart', async () => heart.stop());
  state.hangs.start(log('threads'));
  stops.add('hangs', async () => state.hangs.stop());
  // Those whose turn came already have nothing left to end.
  stops.add('first-threads', () => first.close());
  try {
    const cache = new PodStatusCache();
    const podManager = new PodManager();
    const startLatency = new PodStartLatency({ podManager, runtimeStatus: (uid) => cache.get(uid), clock });
    const cluster = await Cluster.connect({ options, nodeName, log, stops, signal });
    const eventLog = new EventLog({ logger: log('events'), clock });
    const events = cluster?.recordEvents(eventLog) ?? eventLog;
    const statusManager = cluster?.writeStatuses(podManager, (uid) => sources?.apiPod(uid));
    let sources: PodSources | null = null;
    const statuses = new PodStatuses({
      node: () => nodeFacts?.current() ?? { hostIPs: [], runtimeName: '' },
      mirrorOf: (pod) => podManager.mirrorOf(pod),
      ...(statusManager && { sink: statusManager }),
      restartAllContainers: options.featureGates.enabled('RestartAllContainersOnContainerExits'),
      clock,
      logger: log('pod-statuses'),
    });
    let nodeFacts: NodeFactsSource | null = null;

    const look = (uid: PodUID) => pleg.look(uid);
    const server = startServer({ options, state, nodeName, snapshot, podManager, statuses, cache, look, cluster, logger: log('server') });
    stops.add('server', () => server.close());

    const firstList = Promise.withResolvers<void>();
    const onMessage = (message: PlegMessage) => {
      // Always: what is seen before there are workers is what they begin with.
      const changed = cache.apply(message);
      podWorkers?.refreshStatuses(changed);
      syncLoop?.onLifecycleEvents(message.events);
      if (cache.complete) firstList.resolve();
    };
    let podWorkers: PodWorkers | null = null;
    let membership: NodeMembership | null = null;
    let syncLoop: SyncLoop<PodUpdate> | null = null;
    first.listen(onMessage);
    stops.add('pleg', () => pleg.close());

    // Threads that need not know the runtime load while it is asked.
    const images = ImagesThread.start({
      state,
      logger: log('images'),
      settings: imagesSettings(options, snapshot),
      onEvent: (event) => events.record(event),
    });
    stops.add('images', () => images.close());
    const onResults = (results: Parameters<SyncLoop<PodUpdate>['onProbeResults']>[0]) => syncLoop?.onProbeResults(results);
    const probes = ProbesThread.start({
      state,
      logger: log('probes'),
      settings: { runtimeEndpoint: config.containerRuntimeEndpoint },
      onResults,
    });
    stops.add('probes', () => probes.close());

    const runtimeState = new RuntimeState({
      ask: () => pleg.runtimeStatus(),
      onRecovered: () => podWorkers?.wakeFailed(),
      onChanged: () => membership?.wake(),
      clock,
      logger: log('runtime-state'),
    });
    const runtime = await untilAborted(runtimeState.untilAnswered(signal), signal);
    void runtimeState.watch(signal);
    setRuntimeCgroupDriver(state.runtimeCgroupDriver, runtime.cgroupDriver);
    countCgroupVersion(host.cgroupVersion);

    const machine = await untilAborted(stats.machineInfo(), signal);
    const capacity = nodeCapacity(machine, config);
    const allocatable = nodeAllocatable(capacity, resourceSettings(config, flags), machine.hugePages);
    const node = await NodeFactsSource.start({
      nodeName,
      nodeIP: flags.nodeIP,
      capacity,
      allocatable,
      runtimeState,
      registeredHostIPs: () => membership?.hostIPs() ?? [],
      clock,
    });
    nodeFacts = node;
    void node.watch(signal);

    const heartbeats = new HeartbeatsReader(state.heartbeats);
    const localNode = LocalNode.start({
      nodeName,
      config,
      flags,
      featureGates: options.featureGates,
      machine,
      runtimeState,
      listImages: () => images.listImages(),
      healthErrors: () => threadErrors(heartbeats.threads(), clock.monotonic()),
      clock,
      logger: log('node'),
    });
    membership = cluster?.join(localNode, events) ?? null;
    const ownNode = () => membership?.node() ?? localNode.node();

    const values = cluster?.keepValues({
      isRunning: (uid) => runsSomething(cache.get(uid)),
      onChanged: (uids) => podWorkers?.wake(uids),
      events,
    });
    const runtimeClasses = cluster?.keepRuntimeClasses({
      onAdded: (names) =>
        podWorkers?.wake(
          podManager
            .all()
            .filter(({ spec }) => names.has(spec.runtimeClassName ?? ''))
            .map(podUID),
        ),
    });
    const admission = new StartAdmission({ clock, cores: availableParallelism() });
    pool.answerWith({
      ensureImage: (request) => startLatency.whilePulling(request.podUID, () => images.ensureImage(request)),
      startPermit: (kind, task, over) => admission.acquire(startRequest(kind, task), over),
      tryStartPermit: (kind, task) => admission.tryAcquire(startRequest(kind, task)),
      event: (event) => events.record(event),
      // Only a sync asks for values.
      ...(values && { values: async (refs, task) => (task.kind === 'sync' ? values.values(refs, task.pod) : []) }),
    });
    stops.add('pod-sync', () => pool.close());

    const workQueue = new WorkQueue({ clock, onDue: () => loop.onDue() });
    stops.add('work-queue', async () => workQueue.close());
    const workers = new PodWorkers({
      pool,
      look: (uid, made) => pleg.look(uid, made),
      cache,
      statuses,
      pace: new TurnPace(),
      workQueue,
      events,
      node: () => node.current(),
      ...(values && { valuesAtHand: (pod) => values.isAtHand(pod) }),
      runtimeHandler: (pod) => runtimeClasses?.handlerOf(pod) ?? standaloneRuntimeHandler(pod),
      policy: { resyncIntervalMs: config.syncFrequency, backOffMs },
      clock,
      logger: log('pod-workers'),
      onFailure: () => runtimeState.suspect(),
      random: Math.random,
      onFinished: (uid) => {
        values?.unregisterPod(uid);
        loop.requestHousekeeping();
      },
      onForgotten: (uid) => {
        housekeeping.collectSoon();
        const wanted = podManager.get(uid);
        if (!wanted) return;
        restartedPods.inc({ static: isStaticPod(wanted) ? 'true' : '' });
        podUpdates.start(wanted);
      },
    });
    podWorkers = workers;
    stops.add('pod-workers', () => within(drainDeadlineMs, workers.close()));

    const sourcesReady = () => sources !== null && ready !== null && ready.allReady() && sources.seenAllSources();
    let ready: SourcesReady | null = null;
    const journal = await AdmissionJournal.open({ rootDir: flags.rootDirectory, clock, logger: log('admission') });
    stops.add('admission', () => journal.close());
    const declared = declaredFeatures(options.featureGates);
    const podUpdates = new PodUpdates({
      podManager,
      podWorkers: workers,
      statuses,
      events,
      admitHandlers: admitHandlers({ ...options, node: ownNode, declaredFeatures: declared }),
      changeProblem: (before, after) => changeProblem(before, after, declared),
      journal,
      refreshNode: membership ? () => membership.fetch().catch(() => {}) : null,
      onAdmitted: (pod) => values?.registerPod(pod),
      sourcesReady,
      logger: log('pod-updates'),
    });
    const housekeeping = new Housekeeping({
      podManager,
      podWorkers: workers,
      cache,
      statuses,
      start: (pod) => podUpdates.start(pod),
      activePods: () => podUpdates.active(),
      listPodDirectories: () => listPodDirectories(flags.rootDirectory),
      collectContainers: (request) => images.collectContainers(request),
      reconcileMirrorPods: () => mirrors?.reconcile(),
      gcPolicy: {
        minAgeMs: flags.minimumContainerTTL,
        maxPerPodContainer: flags.maximumDeadContainersPerContainer,
        maxContainers: flags.maximumDeadContainers,
      },
      clock,
      logger: log('housekeeping'),
    });
    const deadContainers = new DeadContainers({
      cache,
      shouldContentBeRemoved: (uid) => workers.shouldContentBeRemoved(uid),
      removeContainers: (ids) => images.removeContainers(ids),
      keep: flags.maximumDeadContainersPerContainer,
      logger: log('container-deletor'),
    });
    const loop = new SyncLoop<PodUpdate>({
      runtimeErrors: () => runtimeState.errors(),
      takeUpdates: () => sources?.take() ?? [],
      handleUpdate: (update) => {
        podUpdates.handle(update);
        ready?.addSource(update.source);
      },
      handlePodSyncs: (uids) => workers.wake(uids),
      isLooking: (uid) => workers.isLooking(uid),
      handleContainerDied: (uid, died) => deadContainers.onDied(uid, died),
      handleProbeResults: (results) => workers.wake(new Set(results.map((result) => result.podUID))),
      takeDue: () => workQueue.takeDue(),
      sourcesReady,
      housekeep: () => {
        housekeeping.run();
        journal.keep(new Set([...podManager.uids(), ...workers.uids()]));
      },
      beat: () => heart.loop(),
      clock,
      logger: log('sync-loop'),
    });
    syncLoop = loop;

    const mirrors = cluster?.mirror({
      podManager,
      isSynced: () => sources?.hasApiSynced() ?? false,
      sourcesReady,
      isStaticPodEnding: (fullName) => workers.isStaticPodEnding(fullName),
      onMirror: (pod, mirror) => {
        if (statuses.rebase(podUID(pod), mirror.status)) workers.refreshStatuses([podUID(pod)]);
      },
    });
    sources = PodSources.start({
      nodeName,
      staticPodPath: config.staticPodPath,
      fileCheckFrequencyMs: config.fileCheckFrequency,
      staticPodURL: config.staticPodURL,
      staticPodURLHeader: config.staticPodURLHeader,
      httpCheckFrequencyMs: config.httpCheckFrequency,
      api: membership && cluster ? { client: cluster.client, nodeSynced: membership.store.untilSynced() } : null,
      decode: (task) => pool.decodeManifest(task),
      onReport: () => loop.onSourceReport(),
      onEvent: (event) => events.record(event),
      clock,
      logger: log('sources'),
    });
    ready = new SourcesReady(sources.sources);
    stops.add('sources', async () => sources?.close());

    // A pod that runs since before must not be taken for one that never started.
    await untilAborted(firstList.promise, signal);
    await reportHost(events, { nodeName, config, cgroupVersion: host.cgroupVersion });
    await loop.run(signal);
  } catch (err) {
    // Told to stop while it was still starting.
    if (!signal.aborted) throw err;
  } finally {
    await within(stopDeadlineMs, stops.run());
  }
}
