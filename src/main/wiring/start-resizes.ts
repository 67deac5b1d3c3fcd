/** Creates the resize manager and connects it with everything that may free resources: pods that end, and changes of the node. */
import { type PodUID } from '../../shared/kubernetes/ids.ts';
import { ResizeManager } from '../allocation/index.ts';
import type { PodTimelines } from '../timeline/index.ts';
import type { EventSink } from '../events/index.ts';
import type { CgroupSettings, MachineWatch, NodeStore } from '../node/index.ts';
import { isDeleted } from '../../shared/kubernetes/is-deleted.ts';
import { isSwapLimited } from '../../shared/kubernetes/swap.ts';
import type { ResizeAdmission } from '../pods/resize-admission.ts';
import type { SourcesReady } from '../sources/index.ts';
import type { PodManager } from '../pods/pod-manager.ts';
import type { RuntimeStatusCache } from '../pods/runtime-status-cache.ts';
import type { PodWorkers } from '../pods/workers/index.ts';
import type { WorkQueue } from '../../shared/concurrency/work-queue.ts';
import type { Allocation } from './open-allocation.ts';
import type { KubeletContext } from './kubelet-context.ts';
import type { PodStates } from '../pods/lifecycle/pod-states.ts';

export interface ResizesOptions extends Pick<KubeletContext, 'clock' | 'options' | 'log' | 'shutdown' | 'podLifecycle'>, Allocation {
  readonly threads: { readonly host: Pick<CgroupSettings, 'cgroupVersion'> };
  readonly nodeServices: {
    readonly machine: Pick<MachineWatch, 'onChanged'>;
    /** Null when standalone. */
    readonly clusterNode: { readonly store: Pick<NodeStore, 'get' | 'onChange'> } | null;
  };
  readonly podManager: PodManager;
  readonly podStates: PodStates;
  readonly workers: Pick<PodWorkers, 'update' | 'refreshStatuses'>;
  readonly admission: ResizeAdmission;
  readonly workQueue: WorkQueue;
  readonly cache: RuntimeStatusCache;
  readonly timelines: PodTimelines;
  readonly sourcesReady: Pick<SourcesReady, 'allReady' | 'onReady'>;
  readonly events: EventSink;
}

export function startResizes(start: ResizesOptions): ResizeManager {
  const { clock, options, log, threads, shutdown, allocationManager, resizeConditions, podManager, workers, admission, workQueue } = start;
  const { sourcesReady, events, podLifecycle } = start;
  const { config, featureGates } = options;
  const wanted = (uid: PodUID) => {
    const pod = podManager.get(uid);
    return pod && !isDeleted(pod) && !start.podStates.isTerminationRequested(uid) ? pod : undefined;
  };
  const resizes = new ResizeManager({
    settings: {
      cgroupVersion: threads.host.cgroupVersion,
      podLevel: featureGates.enabled('InPlacePodLevelResourcesVerticalScaling'),
      memoryBackedVolumes: featureGates.enabled('InPlacePodVerticalScalingMemoryBackedVolumes'),
      exclusiveCPUs: config.cpuManagerPolicy === 'static' && !featureGates.enabled('InPlacePodVerticalScalingExclusiveCPUs'),
      exclusiveMemory: config.memoryManagerPolicy === 'Static' && !featureGates.enabled('InPlacePodVerticalScalingExclusiveMemory'),
      limitedSwap: isSwapLimited(config.memorySwap.swapBehavior) && threads.host.cgroupVersion === 2,
    },
    podLevelResources: featureGates.enabled('PodLevelResources'),
    allocationManager,
    conditions: resizeConditions,
    wanted,
    runtimeStatus: (uid) => start.cache.get(uid),
    refusal: (pod, onFreed) => admission.refusal(pod, onFreed),
    onAllocated: (pod) => workers.update(pod, 'update'),
    onConditions: (uid) => workers.refreshStatuses([uid]),
    syncAfter: (uid, delayMs) => workQueue.enqueue(uid, delayMs),
    sourcesReady: () => sourcesReady.allReady(),
    timelines: start.timelines,
    events,
    clock,
    logger: log('resizes'),
  });
  shutdown.register('resizes', async () => resizes.close());
  podLifecycle.register({
    name: 'resizes',
    added: (pod) => resizes.onAdded(pod),
    changed: (before, pod) => resizes.onChanged(before, pod),
    // The requests of a pod whose admission is pending count. They are free when the pod is rejected.
    rejected: () => resizes.retry('pods_removed'),
    observed: (pod, status) => resizes.observe(pod, status),
    resizeFailed: (pod, message) => resizes.onError(pod, message),
    containersEnded: () => resizes.retry('pod_terminated'),
    terminated: (uid) => {
      resizes.forget(uid);
      resizes.retry('pod_terminated');
    },
    forgotten: (uid) => resizes.forget(uid),
    removed: () => resizes.retry('pods_removed'),
  });
  sourcesReady.onReady(() => resizes.retry('pods_added'));
  retryWhenNodeChanges(start.nodeServices, resizes);
  return resizes;
}

/** In a cluster the Node object decides what fits. It shows a change of this machine or of its reservations a moment later. */
function retryWhenNodeChanges({ machine, clusterNode }: ResizesOptions['nodeServices'], resizes: ResizeManager): void {
  machine.onChanged(() => resizes.retry('periodic_retry'));
  const allocatable = () => JSON.stringify(clusterNode?.store.get()?.status?.allocatable);
  let known = allocatable();
  clusterNode?.store.onChange(() => {
    const before = known;
    known = allocatable();
    if (known !== before) resizes.retry('periodic_retry');
  });
}
