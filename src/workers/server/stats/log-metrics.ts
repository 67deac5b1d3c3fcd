/** The metrics of containers' logs, which are on the page /metrics. Pure. Upstream: pkg/kubelet/metrics/collectors/log_metrics.go. */
import { FamilyList } from '../../../shared/metrics/exposition/family-list.ts';
import { labelsOf } from '../../../shared/metrics/exposition/labels.ts';
import type { MetricFamily } from '../../../shared/metrics/exposition/metric-family.ts';
import type { NodeUsage } from './group-usage.ts';

const name = 'kubelet_container_log_filesystem_used_bytes';
const help = "[ALPHA] Bytes used by the container's logs on the filesystem.";

export function logFamilies({ pods }: NodeUsage): MetricFamily[] {
  const list = new FamilyList();
  for (const { podName, podNamespace, podUID, containers } of pods) {
    for (const { identity, values } of containers) {
      if (Number.isNaN(values.logBytes)) continue;
      const labels = labelsOf({ container: identity.containerName, namespace: podNamespace, pod: podName, uid: podUID });
      list.add(name, 'gauge', help, labels, values.logBytes);
    }
  }
  return list.sorted();
}
