/** Creates the cache of the pods' API statuses with the feature gates that the statuses depend on. */
import { ApiStatusCache, type StatusUpdateSink } from '../pods/api-status/index.ts';
import type { PodManager } from '../pods/pod-manager.ts';
import type { ProbeManager } from '../probes/index.ts';
import { recordStatusPhases, type PodTimelines } from '../timeline/index.ts';
import type { Allocation } from './open-allocation.ts';
import type { KubeletContext } from './kubelet-context.ts';
import type { NodeInfoSource } from '../node/index.ts';

export interface ApiStatusesOptions extends Pick<KubeletContext, 'clock' | 'options' | 'log' | 'podLifecycle'>, Allocation {
  readonly podManager: PodManager;
  readonly nodeInfo: Pick<NodeInfoSource, 'current'>;
  readonly probes: ProbeManager;
  /** Undefined when standalone. */
  readonly statusManager: StatusUpdateSink | undefined;
  readonly timelines: PodTimelines;
}

export function createApiStatusCache({
  clock,
  options,
  log,
  podLifecycle,
  podManager,
  nodeInfo,
  probes,
  statusManager,
  timelines,
  allocationManager,
  resizeConditions,
}: ApiStatusesOptions): ApiStatusCache {
  const { featureGates } = options;
  const statuses = new ApiStatusCache({
    node: () => nodeInfo.current(),
    mirrorOf: (pod) => podManager.mirrorOf(pod),
    sink: {
      set: (update) => {
        recordStatusPhases(timelines, update);
        statusManager?.set(update);
      },
      expedite: (uid) => statusManager?.expedite(uid),
    },
    probes,
    resizeConditions,
    actuatedPod: (pod) => allocationManager.actuatedPod(pod),
    features: {
      restartGates: {
        containerRestartRules: featureGates.enabled('ContainerRestartRules'),
        restartAllContainersOnContainerExits: featureGates.enabled('RestartAllContainersOnContainerExits'),
      },
      podLevelResources: featureGates.enabled('PodLevelResources'),
      podResources: featureGates.enabled('InPlacePodLevelResourcesVerticalScaling'),
      stopSignals: featureGates.enabled('ContainerStopSignals'),
      imageVolumeRefs: featureGates.enabled('ImageVolumeWithDigest'),
      volumeHealth: featureGates.enabled('CSIVolumeHealth'),
    },
    clock,
    logger: log('pod-statuses'),
  });
  podLifecycle.register({
    name: 'statuses',
    rejected: (pod, why) => statuses.reject(pod, why),
    forgotten: (uid) => statuses.forget(uid),
    keepOnly: (known) => statuses.keepOnly(known),
  });
  return statuses;
}
