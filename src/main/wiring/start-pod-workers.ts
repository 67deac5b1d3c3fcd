/** Starts the parts that sync single pods: the pod workers, the resizes, and the handlers of the requests that tasks of the sync pool send. */
import { withTimeout } from '../../shared/concurrency/with-timeout.ts';
import type { ExclusiveAllocations } from '../allocation/index.ts';
import { podUID } from '../../shared/kubernetes/ids.ts';
import { podReference, type EventSink } from '../events/index.ts';
import type { NodeInfoSource, RuntimeState } from '../node/index.ts';
import { standaloneRuntimeHandler } from '../objects/index.ts';
import type { ActivePods } from '../pods/active-pods.ts';
import { countRejection, resizeFit, type AdmissionNode } from '../pods/admission/index.ts';
import type { ApiStatusCache } from '../pods/api-status/index.ts';
import type { PodDispatcher } from '../pods/dispatch/index.ts';
import type { PodStates } from '../pods/lifecycle/pod-states.ts';
import { MountedVolumes } from '../pods/mounted-volumes.ts';
import type { PodManager } from '../pods/pod-manager.ts';
import { ResizeAdmission } from '../pods/resize-admission.ts';
import type { RuntimeStatusCache } from '../pods/runtime-status-cache.ts';
import { PodWorkers } from '../pods/workers/index.ts';
import { WorkQueue } from '../../shared/concurrency/work-queue.ts';
import type { ProbeManager } from '../probes/index.ts';
import type { PodUpdate, SourcesReady } from '../sources/index.ts';
import type { SyncLoop } from '../sync-loop.ts';
import type { ImagesThread } from '../threads/images-thread.ts';
import type { PlegThread } from '../threads/pleg-thread.ts';
import type { PodSyncPool } from '../threads/pod-sync-pool.ts';
import type { PodTimelines } from '../timeline/index.ts';
import type { Volumes } from './create-volume-manager.ts';
import type { KubeletContext } from './kubelet-context.ts';
import type { Allocation } from './open-allocation.ts';
import type { PodObjects } from './start-pod-objects.ts';
import { startResizes, type ResizesOptions } from './start-resizes.ts';
import { createTaskHandlers } from './task-handlers.ts';

/** Upstream's backOffPeriod. */
const backOffMs = 10_000;
/** How long a task may take to reach a step at which it can stop. */
const drainDeadlineMs = 1500;

export interface PodWorkersStart
  extends Pick<KubeletContext, 'clock' | 'random' | 'options' | 'log' | 'shutdown' | 'podLifecycle'>, Allocation, PodObjects, Volumes {
  readonly threads: ResizesOptions['threads'] & {
    readonly pool: Pick<PodSyncPool, 'run'>;
    readonly pleg: Pick<PlegThread, 'inspectPod'>;
  };
  readonly runtime: {
    readonly images: Pick<ImagesThread, 'ensureImage'>;
    readonly runtimeState: Pick<RuntimeState, 'checkSoon' | 'onRecovered'>;
  };
  readonly nodeInfo: Pick<NodeInfoSource, 'current'>;
  readonly nodeServices: ResizesOptions['nodeServices'] & { readonly node: () => AdmissionNode | null };
  readonly exclusiveAllocations: Pick<ExclusiveAllocations, 'restore'>;
  readonly podManager: PodManager;
  readonly cache: RuntimeStatusCache;
  readonly statuses: ApiStatusCache;
  readonly probes: ProbeManager;
  readonly dispatcher: Pick<PodDispatcher, 'requestSyncSlot' | 'acquireStartPermit' | 'tryAcquireStartPermit'>;
  readonly podStates: PodStates;
  readonly activePods: ActivePods;
  readonly events: EventSink;
  readonly timelines: PodTimelines;
  readonly sourcesReady: Pick<SourcesReady, 'allReady' | 'onReady'>;
  readonly syncLoop: Pick<SyncLoop<PodUpdate>, 'onDue'>;
}

export interface PodWorkersParts {
  readonly workers: PodWorkers;
  readonly workQueue: WorkQueue;
}

export function startPodWorkers(start: PodWorkersStart): PodWorkersParts {
  const { clock, random, options, log, shutdown, threads, podLifecycle, runtime, nodeInfo, nodeServices, podManager, cache, statuses } =
    start;
  const { probes, dispatcher, podStates, activePods, events, timelines, allocationManager, exclusiveAllocations, syncLoop } = start;
  const { podObjects, runtimeClasses, objectChanges, volumeManager, volumeChanges, volumeRejections } = start;
  const { pool, pleg } = threads;
  const { images, runtimeState } = runtime;

  const mountedVolumes = new MountedVolumes(clock);
  podLifecycle.register({
    name: 'volumes',
    admitted: (pod) => mountedVolumes.addPod(pod),
    changed: (_, pod) => mountedVolumes.addPod(pod),
    terminated: (uid) => mountedVolumes.removeDesired(uid),
    finished: (uid) => mountedVolumes.removePod(uid),
  });
  const workQueue = new WorkQueue({ clock, onDue: () => syncLoop.onDue() });
  shutdown.register('work-queue', async () => workQueue.close());
  podLifecycle.register({ name: 'work-queue', forgotten: (uid) => workQueue.remove(uid) });
  const taskHandlers = {
    clock,
    images,
    podManager,
    cache,
    events,
    podObjects,
    mountedVolumes,
    volumeManager,
    dispatcher,
    timelines,
    probes,
  };
  const workers = new PodWorkers({
    createPool: (owner) => {
      const handlers = createTaskHandlers({ ...taskHandlers, workers: owner, allocationManager });
      return { run: (task) => pool.run(task, handlers) };
    },
    inspectPod: (uid, created) => pleg.inspectPod(uid, created),
    cache,
    statuses,
    dispatcher,
    probes,
    podStates,
    workQueue,
    events,
    node: () => nodeInfo.current(),
    dependenciesReady: (pod) => (podObjects?.dependenciesReady(pod) ?? true) && volumeManager.areReady(pod),
    volumes: mountedVolumes,
    timelines,
    runtimeHandler: (pod) => runtimeClasses?.lookupRuntimeHandler(pod) ?? standaloneRuntimeHandler(pod),
    exclusiveAllocations,
    allocation: allocationManager,
    policy: { resyncIntervalMs: options.config.syncFrequency, backOffMs },
    clock,
    logger: log('pod-workers'),
    onFailure: () => runtimeState.checkSoon(),
    random,
    observers: podLifecycle,
  });
  objectChanges.add((uids) => workers.wake(uids));
  volumeChanges.add((uid) => workers.wake([uid]));
  volumeRejections.add((pod, failed) => {
    events.record({ object: podReference(pod), type: 'Warning', ...failed });
    countRejection(failed.reason);
    const end = workers.kill(podUID(pod), { evicted: true, gracePeriodOverrideSeconds: null, failed });
    end.catch((err: unknown) => log('pod-workers').error({ podUID: podUID(pod), err }, 'A rejected pod has not ended in time'));
  });
  runtimeState.onRecovered(() => workers.wakeFailed());
  shutdown.register('pod-workers', () => withTimeout(drainDeadlineMs, workers.close(), clock));

  const admission = new ResizeAdmission({
    activePods,
    podWorkers: workers,
    resizeFit: resizeFit({
      node: nodeServices.node,
      schedulerPreempts: options.featureGates.enabled('InPlacePodVerticalScalingSchedulerPreemption'),
    }),
    events,
    logger: log('pod-updates'),
  });
  startResizes({ ...start, workers, admission, workQueue });
  return { workers, workQueue };
}
