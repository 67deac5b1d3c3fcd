/**
 * The resource usage of every pod and container. The stats thread writes it; eviction (main) and the server thread will read it. A pod's row has an empty
 * container name and ID. The values come from the cgroups, as in cadvisor (see workers/stats).
 */
import type { ContainerID, PodUID } from '../kubernetes/ids.ts';
import { f64, i64, text, type Row } from './table-layout.ts';
import { defineTable } from './typed-table.ts';

const fields = {
  /** A static pod's manifest may set a UID that is longer than the API server's 36 characters. */
  podUID: text<PodUID>(128),
  containerName: text(64),
  containerID: text<ContainerID | ''>(128),
  /** Since the creation of the cgroup. */
  cpuUsageNs: i64,
  memoryUsageBytes: f64,
  /** The usage without inactive file pages, which the kernel can reclaim at any time. */
  memoryWorkingSetBytes: f64,
  memoryRssBytes: f64,
  pids: f64,
  /** Wall-clock ms. */
  sampledAtMs: f64,
};

export type UsageRow = Row<typeof fields>;
export const usageTable = defineTable('usage', fields);

/** Ten rows per pod, for the pod and nine containers, and 200 more for terminating pods above the maximum. */
export function usageTableCapacity(maxPods: number): number {
  return maxPods * 10 + 200;
}
