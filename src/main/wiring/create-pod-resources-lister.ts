/** Creates the part that answers the PodResources API with what the resource managers have given to pods. */
import { noExclusiveResources, PodResourcesLister, type PodResourcesListerDependencies } from '../pod-resources/index.ts';
import type { KubeletContext } from './kubelet-context.ts';

type Options = Pick<KubeletContext, 'options'> & Pick<PodResourcesListerDependencies, 'podManager' | 'isActive' | 'allocatedPod'>;

export function createPodResourcesLister({ options: { featureGates }, podManager, isActive, allocatedPod }: Options): PodResourcesLister {
  return new PodResourcesLister({
    podManager,
    isActive,
    allocatedPod,
    providers: noExclusiveResources,
    gates: {
      listUsesActivePods: featureGates.enabled('KubeletPodResourcesListUseActivePods'),
      podLevel: featureGates.enabled('PodLevelResourceManagers'),
    },
  });
}
