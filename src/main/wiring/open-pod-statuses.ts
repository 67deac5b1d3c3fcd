/** Opens the records of the pods' resources, and creates the cache of API statuses with the parts that it reads: probes and allocations. */
import { ActivePods } from '../pods/active-pods.ts';
import type { ApiStatusCache } from '../pods/api-status/index.ts';
import type { ProbeManager } from '../probes/index.ts';
import { createApiStatusCache, type ApiStatusesOptions } from './create-api-status-cache.ts';
import type { PodStores } from './create-pod-stores.ts';
import { createProbeManager, type ProbeManagerCreation } from './create-probe-manager.ts';
import { openAllocation, type Allocation, type AllocationOpening } from './open-allocation.ts';

export type PodStatusesOpening = AllocationOpening &
  ProbeManagerCreation &
  PodStores &
  Omit<ApiStatusesOptions, 'probes' | keyof Allocation>;

export interface PodStatuses extends Allocation {
  readonly probes: ProbeManager;
  readonly statuses: ApiStatusCache;
  readonly activePods: ActivePods;
}

export async function openPodStatuses(opening: PodStatusesOpening): Promise<PodStatuses> {
  const probes = createProbeManager(opening);
  const allocation = await openAllocation(opening);
  const statuses = createApiStatusCache({ ...opening, ...allocation, probes });
  return { ...allocation, probes, statuses, activePods: new ActivePods({ ...opening, ...allocation, statuses }) };
}
