/** The metrics of claims, which are on the page /metrics. Pure. Upstream: pkg/kubelet/metrics/collectors/volume_stats.go. */
import type { PodUID } from '../../../shared/kubernetes/ids.ts';
import { FamilyList } from '../../../shared/metrics/exposition/family-list.ts';
import { labelsOf } from '../../../shared/metrics/exposition/labels.ts';
import type { MetricFamily } from '../../../shared/metrics/exposition/metric-family.ts';
import type { ClaimedVolumeRow } from '../../../shared/state/claimed-volumes-table.ts';
import type { PodStorage, VolumeUsage } from '../../../shared/state/storage-table.ts';

const series: readonly (readonly [name: string, help: string, value: (usage: VolumeUsage) => number])[] = [
  ['available_bytes', 'Number of available bytes in the volume', (usage) => usage.availableBytes],
  ['capacity_bytes', 'Capacity in bytes of the volume', (usage) => usage.capacityBytes],
  ['inodes', 'Maximum number of inodes in the volume', (usage) => usage.inodes],
  ['inodes_free', 'Number of free inodes in the volume', (usage) => usage.inodesFree],
  ['inodes_used', 'Number of used inodes in the volume', (usage) => usage.inodesUsed],
  ['used_bytes', 'Number of used bytes in the volume', (usage) => usage.usedBytes],
];

/** A claim that several pods use has one series of each metric. Unknown values are 0, as upstream. */
export function volumeFamilies(
  storage: ReadonlyMap<PodUID, PodStorage>,
  claimedVolumes: ReadonlyMap<PodUID, readonly ClaimedVolumeRow[]>,
): MetricFamily[] {
  const list = new FamilyList();
  const shown = new Set<string>();
  for (const [podUID, rows] of claimedVolumes) {
    for (const row of rows) {
      const usage = usageOfClaim(storage.get(podUID), row);
      const key = `${row.namespace}/${row.claim}`;
      if (!usage || shown.has(key)) continue;
      shown.add(key);
      const labels = labelsOf({ namespace: row.namespace, persistentvolumeclaim: row.claim });
      for (const [name, help, value] of series)
        list.add(`kubelet_volume_stats_${name}`, 'gauge', `[ALPHA] ${help}`, labels, value(usage) || 0);
    }
  }
  return list.sorted();
}

/** Undefined: not measured yet. */
export function usageOfClaim(storage: PodStorage | undefined, { plugin, folder }: ClaimedVolumeRow): VolumeUsage | undefined {
  const usage = storage?.volumes.get(folder);
  return usage?.plugin === plugin ? usage : undefined;
}
