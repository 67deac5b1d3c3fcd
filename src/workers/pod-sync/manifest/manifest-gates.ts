/** Feature gates that affect defaults and validation of manifests. */
import type { PodSyncGates } from '../../../shared/contracts/pod-sync/feature-gates.ts';

export type ManifestGates = PodSyncGates;

/** Without PodLevelResourcesFixDefaulting, the defaults complete pod-level resources. With it, only the API server does, when a pod is created. */
export function completesPodResources(gates: ManifestGates): boolean {
  return gates.PodLevelResources && !gates.PodLevelResourcesFixDefaulting;
}
