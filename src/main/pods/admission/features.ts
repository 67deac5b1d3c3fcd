/**
 * Rejects pods that require features this node does not have: a gate is off, or the node does not declare the feature. Upstream:
 * pkg/kubelet/lifecycle/handlers.go (podFeatures, declaredFeatures) and component-helpers/nodedeclaredfeatures/features.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Pod } from '../../../shared/kubernetes/api.ts';
import { hasPodLevelResources } from '../../../shared/kubernetes/pod-resources.ts';
import type { AdmitHandler } from './admit-handler.ts';

export interface FeatureAdmissionOptions {
  /** Gate PodLevelResources. */
  readonly podLevelResources: boolean;
  /** The Node's declared features; null while the gate NodeDeclaredFeatures is off. */
  readonly declared: readonly string[] | null;
}

/** A declared feature, and which pods and pod updates require it. */
interface DeclaredFeature {
  readonly name: string;
  readonly isRequiredByPod?: (spec: Pod['spec']) => boolean;
  readonly isRequiredByUpdate?: (before: Pod['spec'], after: Pod['spec']) => boolean;
}

/** In upstream's order. No pod requires ExtendWebSocketsToKubelet. */
const features: readonly DeclaredFeature[] = [
  {
    name: 'RestartAllContainersOnContainerExits',
    isRequiredByPod: (spec) => [...spec.containers, ...(spec.initContainers ?? [])].some(restartsAll),
  },
  {
    name: 'InPlacePodLevelResourcesVerticalScaling',
    isRequiredByUpdate: (before, after) => !isDeepStrictEqual(before.resources, after.resources),
  },
  { name: 'InPlacePodVerticalScalingInitContainers', isRequiredByUpdate: hasResizedInitContainer },
  { name: 'UserNamespacesHostNetworkSupport', isRequiredByPod: (spec) => spec.hostNetwork === true && spec.hostUsers === false },
  {
    name: 'VolumeBindMountOptions',
    isRequiredByPod: ({ containers, initContainers = [], ephemeralContainers = [] }) =>
      [...containers, ...initContainers, ...ephemeralContainers].some(hasBindMountOptions),
  },
];

export function featureAdmission({ podLevelResources, declared }: FeatureAdmissionOptions): AdmitHandler {
  return ({ spec }) => {
    if (!podLevelResources && hasPodLevelResources(spec)) {
      return { rejection: { reason: 'PodLevelResourcesNotSupported', message: 'PodLevelResources feature gate is disabled' } };
    }
    const missing = missingFeatures(declared, (feature) => feature.isRequiredByPod?.(spec));
    return missing === null ? null : { rejection: { reason: 'PodFeatureUnsupported', message: missing } };
  };
}

/** The event message for a pod update that requires missing features; null when none is missing. The pod keeps running. */
export function missingFeaturesForUpdate(before: Pod, after: Pod, declared: readonly string[] | null): string | null {
  return missingFeatures(declared, (feature) => feature.isRequiredByUpdate?.(before.spec, after.spec));
}

function missingFeatures(declared: readonly string[] | null, isRequired: (feature: DeclaredFeature) => boolean | undefined): string | null {
  if (declared === null) return null;
  const missing = features.filter((feature) => isRequired(feature) === true && !declared.includes(feature.name)).map(({ name }) => name);
  return missing.length === 0 ? null : `Pod requires node features that are not available: ${missing.join(', ')}`;
}

type Container = Pod['spec']['containers'][number];

function restartsAll({ restartPolicyRules = [] }: Container): boolean {
  return restartPolicyRules.some(({ action }) => action === 'RestartAllContainers');
}

function hasBindMountOptions({ volumeMounts = [] }: Pick<Container, 'volumeMounts'>): boolean {
  return volumeMounts.some(({ bindMountOptions = [] }) => bindMountOptions.length > 0);
}

/** Sidecars are excluded: they are resized like regular containers. */
function hasResizedInitContainer({ initContainers = [] }: Pod['spec'], after: Pod['spec']): boolean {
  return initContainers.some(
    ({ restartPolicy, resources }, index) =>
      restartPolicy !== 'Always' && !isDeepStrictEqual(resources, after.initContainers?.[index]?.resources),
  );
}
