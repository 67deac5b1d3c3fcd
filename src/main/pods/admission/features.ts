/**
 * Refuses pods that ask for what this node does not do: a gate is off, or the behaviour is none of those that it declares. Upstream:
 * pkg/kubelet/lifecycle/handlers.go (podFeatures, declaredFeatures) and component-helpers/nodedeclaredfeatures/features.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Pod } from '../../../shared/kubernetes/api.ts';
import type { AdmitHandler } from './admit-handler.ts';

export interface FeatureAdmissionOptions {
  /** Gate PodLevelResources. */
  readonly podLevelResources: boolean;
  /** What the Node declares; null: the gate NodeDeclaredFeatures is off, and nobody asks. */
  readonly declared: readonly string[] | null;
}

/** What a pod can need of those. */
interface Need {
  readonly name: string;
  readonly ofPod?: (spec: Pod['spec']) => boolean;
  readonly ofChange?: (before: Pod['spec'], after: Pod['spec']) => boolean;
}

/** In upstream's order. ExtendWebSocketsToKubelet is nothing that a pod needs. */
const needs: readonly Need[] = [
  { name: 'RestartAllContainersOnContainerExits', ofPod: (spec) => [...spec.containers, ...(spec.initContainers ?? [])].some(restartsAll) },
  {
    name: 'InPlacePodLevelResourcesVerticalScaling',
    ofChange: (before, after) => !isDeepStrictEqual(before.resources, after.resources),
  },
  { name: 'InPlacePodVerticalScalingInitContainers', ofChange: hasResizedInitContainer },
  { name: 'UserNamespacesHostNetworkSupport', ofPod: (spec) => spec.hostNetwork === true && spec.hostUsers === false },
];

export function featureAdmission({ podLevelResources, declared }: FeatureAdmissionOptions): AdmitHandler {
  return ({ spec }) => {
    if (!podLevelResources && hasResources(spec)) {
      return { rejection: { reason: 'PodLevelResourcesNotSupported', message: 'PodLevelResources feature gate is disabled' } };
    }
    const missing = without(declared, (need) => need.ofPod?.(spec));
    return missing === null ? null : { rejection: { reason: 'PodFeatureUnsupported', message: missing } };
  };
}

/** What is said of a pod that was changed in a way that this node can't follow; it is run as it can be. Null: it can. */
export function missingFeaturesForUpdate(before: Pod, after: Pod, declared: readonly string[] | null): string | null {
  return without(declared, (need) => need.ofChange?.(before.spec, after.spec));
}

function without(declared: readonly string[] | null, isNeeded: (need: Need) => boolean | undefined): string | null {
  if (declared === null) return null;
  const missing = needs.filter((need) => isNeeded(need) === true && !declared.includes(need.name)).map(({ name }) => name);
  return missing.length === 0 ? null : `Pod requires node features that are not available: ${missing.join(', ')}`;
}

type Container = Pod['spec']['containers'][number];

function restartsAll({ restartPolicyRules = [] }: Container): boolean {
  return restartPolicyRules.some(({ action }) => action === 'RestartAllContainers');
}

/** Sidecars are resized as the regular containers are. */
function hasResizedInitContainer({ initContainers = [] }: Pod['spec'], after: Pod['spec']): boolean {
  return initContainers.some(
    ({ restartPolicy, resources }, index) =>
      restartPolicy !== 'Always' && !isDeepStrictEqual(resources, after.initContainers?.[index]?.resources),
  );
}

function hasResources({ resources }: Pod['spec']): boolean {
  return Object.keys({ ...resources?.requests, ...resources?.limits }).length > 0;
}
