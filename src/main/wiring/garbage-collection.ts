/** What clears away behind pods, wired: what is left of those that are gone, and the dead containers of those that run. */
import { systemClock as clock } from '../../shared/time/clock.ts';
import type { KubeletContext } from './kubelet-context.ts';
import type { Observers } from './runtime-services.ts';
import { ContainerDeletor } from '../pods/housekeeping/container-deletor.ts';
import type { EventSink } from '../events/index.ts';
import { Housekeeping } from '../pods/housekeeping/housekeeping.ts';
import type { MirrorPods } from '../pods/static/mirror-pods.ts';
import { listPodDirectories } from '../pods/housekeeping/pod-directories.ts';
import type { PodManager } from '../pods/pod-manager.ts';
import type { RuntimeStatusCache } from '../pods/runtime-status-cache.ts';
import type { ApiStatusCache } from '../pods/api-status/api-status-cache.ts';
import type { PodHandlers } from '../pods/pod-handlers.ts';
import type { PodWorkers } from '../pods/workers/pod-workers.ts';

export interface CleanersOptions extends Pick<KubeletContext, 'options' | 'nodeName' | 'log'> {
  readonly observers: Observers;
  readonly events: EventSink;
  readonly podManager: PodManager;
  readonly cache: RuntimeStatusCache;
  readonly statuses: ApiStatusCache;
  readonly workers: PodWorkers;
  readonly updates: PodHandlers;
  /** Undefined: standalone. */
  readonly mirrors: MirrorPods | undefined;
}

export interface Cleaners {
  readonly housekeeping: Housekeeping;
  readonly containerDeletor: ContainerDeletor;
}

export function makeCleaners(cleaners: CleanersOptions): Cleaners {
  const { options, nodeName, log, observers, events, podManager, cache, statuses, workers, updates, mirrors } = cleaners;
  const { rootDirectory, minimumContainerTTL, maximumDeadContainersPerContainer, maximumDeadContainers } = options.flags;
  const { images } = observers;
  const housekeeping = new Housekeeping({
    podManager,
    podWorkers: workers,
    cache,
    statuses,
    start: (pod) => updates.start(pod),
    activePods: () => updates.active(),
    listPodDirectories: () => listPodDirectories(rootDirectory),
    collectContainers: (request) => images.collectContainers(request),
    reconcileMirrorPods: () => mirrors?.reconcile(),
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
  const containerDeletor = new ContainerDeletor({
    cache,
    shouldContentBeRemoved: (uid) => workers.shouldContentBeRemoved(uid),
    removeContainers: (ids) => images.removeContainers(ids),
    keep: maximumDeadContainersPerContainer,
    logger: log('container-deletor'),
  });
  return { housekeeping, containerDeletor };
}
