/** Feature gates that affect defaults and validation of manifests, with their defaults. */
import type { PodSyncSettings } from '../../../shared/contracts/pod-sync/worker-data.ts';

export type ManifestGates = PodSyncSettings['featureGates'];

const defaults = {
  ContainerRestartRules: true,
  EnvFiles: true,
  H2CContainerProbe: false,
  MatchLabelKeysInPodTopologySpread: true,
  MatchLabelKeysInPodTopologySpreadSelectorMerge: true,
  PodDeletionCost: true,
  PodLevelResources: true,
  PodLevelResourcesFixDefaulting: true,
  RestartAllContainersOnContainerExits: true,
  SELinuxMount: true,
  TaintTolerationComparisonOperators: false,
  UserNamespacesHostNetworkSupport: false,
} as const;

export function isEnabled(gates: ManifestGates, gate: keyof typeof defaults): boolean {
  return gates[gate] ?? defaults[gate];
}

/** Without PodLevelResourcesFixDefaulting, the defaults complete pod-level resources. With it, only the API server does, when a pod is created. */
export function completesPodResources(gates: ManifestGates): boolean {
  return isEnabled(gates, 'PodLevelResources') && !isEnabled(gates, 'PodLevelResourcesFixDefaulting');
}
