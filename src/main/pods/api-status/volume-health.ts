/** The health of a pod's volumes in its status, as their drivers report it (upstream SetPodVolumeHealth and VolumeHealthConditionSetsEqual). Pure. */
import type { PodVolumeHealth, VolumeHealthCondition } from '../../../shared/kubernetes/api.ts';

/** The JSON of the health of all volumes. The API server stores 1.5 MiB for the whole pod, and drivers choose the texts. */
const maxBytes = 256 * 1024;

/**
 * Returns the same list if no status and no reason of the volume's conditions changes: one that differs in its message only is not written. Also when the
 * list would be too long. A volume that was unhealthy keeps its entry, without conditions.
 */
export function withVolumeHealth(
  health: readonly PodVolumeHealth[] | undefined,
  name: string,
  conditions: readonly VolumeHealthCondition[],
  now: string,
): readonly PodVolumeHealth[] | undefined {
  const existing = health?.find((entry) => entry.name === name);
  if (identitiesOf(existing?.healthConditions).symmetricDifference(identitiesOf(conditions)).size === 0) return health;
  const changed = { name, healthConditions: conditions, lastTransitionTime: now };
  const next = existing ? health?.map((entry) => (entry === existing ? changed : entry)) : [...(health ?? []), changed];
  return Buffer.byteLength(JSON.stringify(next)) > maxBytes ? health : next;
}

function identitiesOf(conditions: readonly VolumeHealthCondition[] = []): Set<string> {
  return new Set(conditions.map(({ status, reason }) => `${status} ${reason}`));
}
