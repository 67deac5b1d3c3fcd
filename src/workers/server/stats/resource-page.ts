/** The families of /metrics/resource, which metrics-server reads. Pure. Upstream: pkg/kubelet/metrics/collectors/resource_metrics.go. */
import { isMeasured, type CgroupUsage } from '../../../shared/state/usage-table.ts';
import type { NodeUsage, PodUsage } from './group-usage.ts';
import { FamilyList } from '../../../shared/metrics/exposition/family-list.ts';
import { labelsOf, noLabels, type Labels } from '../../../shared/metrics/exposition/labels.ts';
import type { MetricFamily } from '../../../shared/metrics/exposition/metric-family.ts';

const nsPerSecond = 1e9;

const help = {
  node_cpu_usage_seconds_total: '[STABLE] Cumulative cpu time consumed by the node in core-seconds',
  node_memory_working_set_bytes: '[STABLE] Current working set of the node in bytes',
  node_swap_usage_bytes: '[ALPHA] Current swap usage of the node in bytes. Reported only on non-windows systems',
  container_start_time_seconds: '[STABLE] Start time of the container since unix epoch in seconds',
  container_cpu_usage_seconds_total: '[STABLE] Cumulative cpu time consumed by the container in core-seconds',
  container_memory_working_set_bytes: '[STABLE] Current working set of the container in bytes',
  container_swap_usage_bytes: '[ALPHA] Current amount of the container swap usage in bytes. Reported only on non-windows systems',
  container_swap_limit_bytes: '[ALPHA] Current amount of the container swap limit in bytes. Reported only on non-windows systems',
  pod_cpu_usage_seconds_total: '[STABLE] Cumulative cpu time consumed by the pod in core-seconds',
  pod_memory_working_set_bytes: '[STABLE] Current working set of the pod in bytes',
  pod_swap_usage_bytes: '[ALPHA] Current amount of the pod swap usage in bytes. Reported only on non-windows systems',
  resource_scrape_error: '[STABLE] 1 if there was an error while getting container metrics, 0 otherwise',
} as const;

export function resourceFamilies({ root, pods }: NodeUsage): MetricFamily[] {
  const list = new FamilyList();
  const add = (name: keyof typeof help, labels: Labels, value: number, timestampMs?: number) =>
    list.add(name, name.endsWith('_total') ? 'counter' : 'gauge', help[name], labels, value, timestampMs);
  const addUsage = (prefix: 'node' | 'pod' | 'container', labels: Labels, { values }: CgroupUsage) => {
    add(`${prefix}_cpu_usage_seconds_total`, labels, Number(values.cpuUsageNs) / nsPerSecond, values.sampledAtMs);
    add(`${prefix}_memory_working_set_bytes`, labels, values.memoryWorkingSetBytes, values.sampledAtMs);
    add(`${prefix}_swap_usage_bytes`, labels, values.swapBytes, values.sampledAtMs);
  };
  if (root) addUsage('node', noLabels, root);
  for (const { podName, podNamespace, pod, containers } of newestOfEachName(pods)) {
    const podLabels = labelsOf({ namespace: podNamespace, pod: podName });
    for (const container of containers) {
      const { identity, values } = container;
      const labels = labelsOf({ container: identity.containerName, namespace: podNamespace, pod: podName });
      if (identity.createdAtMs > 0) add('container_start_time_seconds', labels, identity.createdAtMs / 1000);
      if (!isMeasured(container)) continue;
      addUsage('container', labels, container);
      if (Number.isFinite(values.memorySwapLimitBytes)) {
        add('container_swap_limit_bytes', labels, Math.max(values.memorySwapLimitBytes, values.swapBytes), values.sampledAtMs);
      }
    }
    if (pod) addUsage('pod', podLabels, pod);
  }
  add('resource_scrape_error', noLabels, root ? 0 : 1);
  return list.sorted();
}

/** A pod's predecessor of the same name may still terminate. Series have no UID, and each must be there once. */
function newestOfEachName(pods: readonly PodUsage[]): PodUsage[] {
  const newest = new Map<string, PodUsage>();
  for (const pod of pods) {
    const key = `${pod.podNamespace}/${pod.podName}`;
    const known = newest.get(key);
    if (!known || startedAtMs(known) < startedAtMs(pod)) newest.set(key, pod);
  }
  return [...newest.values()];
}

function startedAtMs({ pod, sandbox }: PodUsage): number {
  return sandbox?.identity.createdAtMs ?? pod?.identity.createdAtMs ?? 0;
}
