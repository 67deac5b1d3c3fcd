/**
 * What every pod and container uses: written by the stats thread, read by eviction (main) and the server. A pod's row has an empty
 * container name and ID. The values are the cgroup's own (upstream: cadvisor's, see workers/stats).
 */
import type { ContainerID, PodUID } from '../kubernetes/ids.ts';
import { f64, i64, text, type Row } from './table-layout.ts';
import { defineTable } from './typed-table.ts';

const fields = {
  /** A static pod's UID may be given in its manifest: longer than the 36 characters of the API server's. */
  podUID: text<PodUID>(128),
  containerName: text(64),
  containerID: text<ContainerID | ''>(128),
  /** Since the cgroup was made. */
  cpuUsageNs: i64,
  memoryUsageBytes: f64,
  /** Usage less the inactive file pages: what can't be reclaimed at once. */
  memoryWorkingSetBytes: f64,
  memoryRssBytes: f64,
  pids: f64,
  /** Wall-clock ms. */
  sampledAtMs: f64,
};

export type UsageRow = Row<typeof fields>;
export const usageTable = defineTable('usage', fields);

/** Rows for a node of so many pods: each with its own, and room for nine containers; more pods than maxPods are ending, at times. */
export function usageTableCapacity(maxPods: number): number {
  return maxPods * 10 + 200;
}
