/** Feature gates that affect defaults and validation of manifests, with their defaults in v1.36. */
import type { PodSyncSettings } from '../contracts/pod-sync/worker-data.ts';

export type ManifestGates = PodSyncSettings['featureGates'];

const defaults = {
  ContainerRestartRules: true,
  EnvFiles: true,
  MatchLabelKeysInPodTopologySpread: true,
  MatchLabelKeysInPodTopologySpreadSelectorMerge: true,
  PodDeletionCost: true,
  PodLevelResources: true,
  PreventStaticPodAPIReferences: true,
  RestartAllContainersOnContainerExits: true,
  SELinuxMount: false,
  TaintTolerationComparisonOperators: false,
  UserNamespacesHostNetworkSupport: false,
} as const;

export function isEnabled(gates: ManifestGates, gate: keyof typeof defaults): boolean {
  return gates[gate] ?? defaults[gate];
}
