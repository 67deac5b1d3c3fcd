/** Creates the parts that clean up: housekeeping for pods that are gone, and the container deletor for dead containers of running pods. */
import type { PodUID } from '../../shared/kubernetes/ids.ts';
import type { KubeletContext } from './kubelet-context.ts';
import type { EventSink } from '../events/index.ts';
import { ContainerDeletor, Housekeeping, ImageGarbageCollection, neededImages } from '../pods/housekeeping/index.ts';
import type { ImagesThread } from '../threads/images-thread.ts';
import type { PlegThread } from '../threads/pleg-thread.ts';
import type { PodSyncPool } from '../threads/pod-sync-pool.ts';
import type { StatsThread } from '../threads/stats-thread.ts';
import type { ActivePods } from '../pods/active-pods.ts';
import type { MirrorPods } from '../pods/static/mirror-pods.ts';
import type { PodManager } from '../pods/pod-manager.ts';
import type { RuntimeStatusCache } from '../pods/runtime-status-cache.ts';
import type { ApiStatusCache } from '../pods/api-status/index.ts';
import type { PodHandlers } from '../pods/pod-handlers.ts';
import type { PodWorkers } from '../pods/workers/index.ts';
import type { PodStates } from '../pods/lifecycle/pod-states.ts';

export interface GarbageCollectionOptions extends Pick<KubeletContext, 'clock' | 'options' | 'nodeName' | 'log' | 'podLifecycle'> {
  readonly threads: {
    readonly pool: Pick<PodSyncPool, 'listPodCgroups'>;
    readonly pleg: Pick<PlegThread, 'inspectPod'>;
    readonly stats: { readonly listeners: Pick<StatsThread['listeners'], 'podCgroups'> };
  };
  readonly runtime: { readonly images: Pick<ImagesThread, 'collectContainers' | 'collectImages' | 'removeContainers'> };
  /** The UIDs with a directory below the pods directory. Settles. */
  readonly listPodDirectories: () => Promise<PodUID[]>;
  readonly events: EventSink;
  readonly podManager: PodManager;
  readonly cache: RuntimeStatusCache;
  readonly statuses: ApiStatusCache;
  readonly workers: PodWorkers;
  readonly podStates: PodStates;
  readonly activePods: Pick<ActivePods, 'list'>;
  readonly podHandlers: PodHandlers;
  /** Undefined when standalone. */
  readonly mirrorPods: MirrorPods | undefined;
}

export interface GarbageCollection {
  readonly housekeeping: Housekeeping;
  readonly containerDeletor: ContainerDeletor;
  readonly imageGarbageCollection: ImageGarbageCollection;
}

export function createGarbageCollection(collection: GarbageCollectionOptions): GarbageCollection {
  const {
    clock,
    options,
    nodeName,
    log,
    threads,
    events,
    podManager,
    cache,
    statuses,
    workers,
    podStates,
    activePods,
    podHandlers,
    mirrorPods,
    listPodDirectories,
  } = collection;
  const { images } = collection.runtime;
  const { minimumContainerTTL, maximumDeadContainersPerContainer, maximumDeadContainers } = options.flags;
  const housekeeping = new Housekeeping({
    podManager,
    podWorkers: workers,
    podStates,
    cache,
    statuses,
    start: (pod) => podHandlers.start(pod),
    activePods: () => activePods.list(),
    inspectPod: (uid) => threads.pleg.inspectPod(uid),
    listPodDirectories,
    listPodCgroups: () => threads.pool.listPodCgroups().then(({ podUIDs }) => podUIDs as PodUID[]),
    collectContainers: (request) => images.collectContainers(request),
    reconcileMirrorPods: () => mirrorPods?.reconcile(),
    gcPolicy: {
      minAgeMs: minimumContainerTTL,
      maxPerPodContainer: maximumDeadContainersPerContainer,
      maxContainers: maximumDeadContainers,
    },
    nodeName,
    events,
    clock,
    logger: log('housekeeping'),
  });
  collection.podLifecycle.register({ name: 'housekeeping', forgotten: () => housekeeping.collectSoon() });
  threads.stats.listeners.podCgroups.add(({ podUIDs }) => housekeeping.onPodCgroups(podUIDs as readonly PodUID[]));
  const containerDeletor = new ContainerDeletor({
    cache,
    shouldContentBeRemoved: (uid) => podStates.shouldContentBeRemoved(uid),
    removeContainers: (ids) => images.removeContainers(ids),
    maxDeadPerContainer: maximumDeadContainersPerContainer,
    logger: log('container-deletor'),
  });
  const imageGarbageCollection = new ImageGarbageCollection({
    neededImages: () => neededImages({ podManager, statuses, cache, clock }),
    collectImages: (needed) => images.collectImages(needed),
    nodeName,
    events,
    clock,
    logger: log('image-gc'),
  });
  return { housekeeping, containerDeletor, imageGarbageCollection };
}
