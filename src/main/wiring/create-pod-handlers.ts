/** Creates the handlers of the sources' updates, which admit pods. */
import { isStaticPod } from '../../shared/kubernetes/static-pod.ts';
import { restartedPods } from '../../shared/metrics/definitions/pods.ts';
import type { ExclusiveAllocations } from '../allocation/index.ts';
import type { EventSink } from '../events/index.ts';
import type { ApiStatusCache } from '../pods/api-status/index.ts';
import { PodHandlers } from '../pods/pod-handlers.ts';
import type { PodManager } from '../pods/pod-manager.ts';
import type { RuntimeStatusCache } from '../pods/runtime-status-cache.ts';
import type { PodFaults, PodWorkers } from '../pods/workers/index.ts';
import type { PodTimelines } from '../timeline/index.ts';
import type { Admission } from './create-admission.ts';
import type { KubeletContext } from './kubelet-context.ts';
import type { Allocation } from './open-allocation.ts';
import type { PodStates } from '../pods/lifecycle/pod-states.ts';
import type { SourcesReady } from '../sources/index.ts';
import type { ActivePods } from '../pods/active-pods.ts';

export interface PodHandlersOptions extends Pick<KubeletContext, 'clock' | 'log' | 'podLifecycle'>, Pick<Allocation, 'allocationManager'> {
  readonly podManager: PodManager;
  readonly cache: RuntimeStatusCache;
  readonly workers: PodWorkers;
  readonly podStates: PodStates;
  readonly activePods: ActivePods;
  readonly statuses: ApiStatusCache;
  readonly events: EventSink;
  readonly podAdmission: Admission;
  readonly exclusiveAllocations: Pick<ExclusiveAllocations, 'isNeededBy' | 'allocate'>;
  readonly timelines: PodTimelines;
  readonly faults: PodFaults;
  readonly sourcesReady: Pick<SourcesReady, 'allReady'>;
}

export function createPodHandlers(create: PodHandlersOptions): PodHandlers {
  const { clock, log, podLifecycle, allocationManager, podManager, cache, workers, podStates, activePods, statuses, events } = create;
  const { podAdmission, exclusiveAllocations, timelines, faults, sourcesReady } = create;
  const podHandlers = new PodHandlers({
    ...podAdmission,
    podManager,
    podWorkers: workers,
    podStates,
    activePods,
    statuses,
    events,
    allocationManager,
    runtimeStatus: (uid) => cache.get(uid),
    exclusiveAllocations,
    timelines,
    faults,
    observers: podLifecycle,
    sourcesReady: () => sourcesReady.allReady(),
    clock,
    logger: log('pod-updates'),
  });
  podLifecycle.register({
    name: 'pod-handlers',
    // A source has a pod of the UID again, or still: it starts anew.
    forgotten: (uid) => {
      const currentPod = podManager.get(uid);
      if (!currentPod) return;
      restartedPods.inc({ static: isStaticPod(currentPod) ? 'true' : '' });
      podHandlers.start(currentPod);
    },
  });
  return podHandlers;
}
