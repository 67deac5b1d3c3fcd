/** Creates the handlers of the sources' updates, which admit pods. */
import { isStaticPod } from '../../shared/kubernetes/static-pod.ts';
import { restartedPods } from '../../shared/metrics/definitions/pods.ts';
import type { ExclusiveAllocations } from '../allocation/index.ts';
import type { EventSink } from '../events/index.ts';
import type { NodePressure } from '../eviction/index.ts';
import { declaredFeatures, type ClusterNode, type RuntimeState } from '../node/index.ts';
import type { NodeShutdownState } from '../node-shutdown/index.ts';
import { admitHandlers, missingFeaturesForUpdate, type AdmissionNode } from '../pods/admission/index.ts';
import type { ApiStatusCache } from '../pods/api-status/index.ts';
import { PodHandlers } from '../pods/pod-handlers.ts';
import type { PodManager } from '../pods/pod-manager.ts';
import type { RuntimeStatusCache } from '../pods/runtime-status-cache.ts';
import type { PodFaults, PodWorkers } from '../pods/workers/index.ts';
import type { PodTimelines } from '../timeline/index.ts';
import type { KubeletContext } from './kubelet-context.ts';
import type { Allocation } from './open-allocation.ts';
import type { PodStates } from '../pods/lifecycle/pod-states.ts';
import type { SourcesReady } from '../sources/index.ts';
import type { ActivePods } from '../pods/active-pods.ts';

export interface PodHandlersOptions
  extends Pick<KubeletContext, 'clock' | 'options' | 'log' | 'podLifecycle'>, Pick<Allocation, 'allocationManager'> {
  readonly podManager: PodManager;
  readonly cache: RuntimeStatusCache;
  readonly workers: PodWorkers;
  readonly podStates: PodStates;
  readonly activePods: ActivePods;
  readonly statuses: ApiStatusCache;
  readonly events: EventSink;
  readonly nodeServices: {
    /** Null when standalone. */
    readonly clusterNode: Pick<ClusterNode, 'fetch'> | null;
    readonly node: () => AdmissionNode | null;
    readonly pressure: Pick<NodePressure, 'conditions'>;
    readonly shutdown: Pick<NodeShutdownState, 'isShuttingDown'>;
  };
  readonly runtime: { readonly runtimeState: Pick<RuntimeState, 'info'> };
  readonly exclusiveAllocations: ExclusiveAllocations;
  readonly timelines: PodTimelines;
  readonly faults: PodFaults;
  readonly sourcesReady: SourcesReady;
}

export function createPodHandlers(create: PodHandlersOptions): PodHandlers {
  const { clock, options, log, podLifecycle, allocationManager, podManager, cache, workers, statuses, events, nodeServices, runtime } =
    create;
  const { exclusiveAllocations, timelines, faults, sourcesReady } = create;
  const { clusterNode } = nodeServices;
  const declared = declaredFeatures(options.featureGates, runtime.runtimeState.info);
  const podHandlers = new PodHandlers({
    podManager,
    podWorkers: workers,
    podStates: create.podStates,
    activePods: create.activePods,
    statuses,
    events,
    admitHandlers: admitHandlers({
      ...options,
      node: nodeServices.node,
      declaredFeatures: declared,
      pressureConditions: () => nodeServices.pressure.conditions,
      isShuttingDown: () => nodeServices.shutdown.isShuttingDown,
    }),
    missingFeaturesForUpdate: (before, after) => missingFeaturesForUpdate(before, after, declared),
    allocationManager,
    runtimeStatus: (uid) => cache.get(uid),
    exclusiveAllocations,
    timelines,
    faults,
    refreshNode: clusterNode ? () => clusterNode.fetch().catch(() => {}) : null,
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
