/** Renders the metrics of containers' logs, which are on the page /metrics. Pure. Upstream: pkg/kubelet/metrics/collectors/log_metrics.go. */
import type { NodeUsage } from './group-usage.ts';
import { label, MetricsText } from '../../../shared/metrics/metrics-text.ts';

const name = 'kubelet_container_log_filesystem_used_bytes';
const help = "[ALPHA] Bytes used by the container's logs on the filesystem.";

export function renderLogMetrics({ pods }: NodeUsage): string {
  const text = new MetricsText();
  for (const { podName, podNamespace, podUID, containers } of pods) {
    for (const { identity, values } of containers) {
      if (Number.isNaN(values.logBytes)) continue;
      const labels = [
        label('container', identity.containerName),
        label('namespace', podNamespace),
        label('pod', podName),
        label('uid', podUID),
      ];
      text.add(name, 'gauge', help, labels.join(','), values.logBytes);
    }
  }
  return text.toString();
}
