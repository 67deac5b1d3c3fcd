/**
 * Computes `status.declaredFeatures`: optional behaviour of this node that the scheduler and the API server may rely on. Pure. Upstream:
 * component-helpers/nodedeclaredfeatures.
 *
 * Declares only features that this kubelet implements.
 */
import type { RuntimeInfo } from '../../../shared/contracts/pleg.ts';
import type { FeatureGates } from '../../config/feature-gates.ts';

/** Each feature has the name of its gate. Sorted by name. */
const implementedFeatures = [
  'ExtendWebSocketsToKubelet',
  'InPlacePodLevelResourcesVerticalScaling',
  'InPlacePodVerticalScalingInitContainers',
  'InPlacePodVerticalScalingMemoryBackedVolumes',
  'RestartAllContainersOnContainerExits',
];

/** Features that the runtime must have too. */
const featuresOfRuntime = [
  { name: 'UserNamespacesHostNetworkSupport', field: 'userNamespacesHostNetwork' },
  { name: 'VolumeBindMountOptions', field: 'mountOptions' },
] as const;

/**
 * Returns null while the gate NodeDeclaredFeatures is off. The Node's field then stays unchanged.
 * @param runtime what the runtime reports; undefined or null: nothing
 */
export function declaredFeatures(gates: FeatureGates, runtime: Pick<RuntimeInfo, 'features'> | null | undefined): readonly string[] | null {
  if (!gates.enabled('NodeDeclaredFeatures')) return null;
  const reported = featuresOfRuntime.filter(({ field }) => runtime?.features?.[field]).map(({ name }) => name);
  return [...implementedFeatures, ...reported].filter((name) => gates.enabled(name));
}
