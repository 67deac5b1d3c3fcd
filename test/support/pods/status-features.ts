/** The values of the feature gates that change statuses and restarts: their defaults, and those of a test. */
import { computeFeatureGates } from '../../../src/main/config/feature-gates.ts';
import type { StatusFeatures } from '../../../src/main/pods/api-status/index.ts';
import type { RestartGates } from '../../../src/shared/kubernetes/restart-policy.ts';

const { gates } = computeFeatureGates({});

export const defaultRestartGates: RestartGates = {
  containerRestartRules: gates.enabled('ContainerRestartRules'),
  restartAllContainersOnContainerExits: gates.enabled('RestartAllContainersOnContainerExits'),
};

export function statusFeaturesWith(values: Partial<StatusFeatures> = {}): StatusFeatures {
  return {
    restartGates: defaultRestartGates,
    podLevelResources: gates.enabled('PodLevelResources'),
    podResources: gates.enabled('InPlacePodLevelResourcesVerticalScaling'),
    stopSignals: gates.enabled('ContainerStopSignals'),
    imageVolumeRefs: gates.enabled('ImageVolumeWithDigest'),
    volumeHealth: gates.enabled('CSIVolumeHealth'),
    ...values,
  };
}
