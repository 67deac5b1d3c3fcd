/** Feature gates that decide which manifests are valid, and what is filled in; each as in v1.36 where nobody has set it. */
import type { PodSyncSettings } from '../contracts/pod-sync.ts';

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
  TaintTolerationComparisonOperators: false,
  UserNamespacesHostNetworkSupport: false,
} as const;

export function isOn(gates: ManifestGates, gate: keyof typeof defaults): boolean {
  return gates[gate] ?? defaults[gate];
}
