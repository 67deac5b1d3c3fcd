/** The values of the sync pool's feature gates: their defaults, and those of a test. */
import { computeFeatureGates } from '../../../src/main/config/feature-gates.ts';
import { podSyncGates, type PodSyncGates } from '../../../src/shared/contracts/pod-sync/feature-gates.ts';

const { gates } = computeFeatureGates({});

export function podSyncGatesWith(values: Partial<PodSyncGates> = {}): PodSyncGates {
  return { ...(Object.fromEntries(podSyncGates.map((gate) => [gate, gates.enabled(gate)])) as PodSyncGates), ...values };
}
