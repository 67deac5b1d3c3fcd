/**
 * Converts the runtime's own metrics of containers (CRI ListPodSandboxMetrics) for /metrics/cadvisor. Pure. Names, labels and texts are the runtime's: what is
 * not valid, or occurs twice, is left out. Upstream: pkg/kubelet/metrics/collectors/cri_metrics.go.
 */
import type { Metric, MetricDescriptor, PodSandboxMetrics } from '../../../shared/cri/generated/cri-v1.ts';
import { MetricType } from '../../../shared/cri/generated/cri-v1.ts';
import { FamilyList } from '../../../shared/metrics/exposition/family-list.ts';
import { LabelPair, Labels } from '../../../shared/metrics/exposition/labels.ts';
import type { MetricFamily } from '../../../shared/metrics/exposition/metric-family.ts';

const validName = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;
const validLabel = /^(?!__)[a-zA-Z_][a-zA-Z0-9_]*$/;
/** The names of the machine's metrics, which the kubelet itself adds to the page. */
const ownName = /^machine_/;

export function runtimeFamilies(descriptors: readonly MetricDescriptor[], pods: readonly PodSandboxMetrics[]): MetricFamily[] {
  const byName = new Map(descriptors.filter(isValid).map((descriptor) => [descriptor.name, descriptor]));
  const types = new Map<string, 'counter' | 'gauge'>();
  const series = new Set<string>();
  const list = new FamilyList();
  const add = ({ name, labelValues, metricType, timestamp, value }: Metric) => {
    const descriptor = byName.get(name);
    if (!descriptor || descriptor.labelKeys.length !== labelValues.length) return;
    const type = metricType === MetricType.COUNTER ? 'counter' : 'gauge';
    if ((types.get(name) ?? type) !== type) return;
    const labels = new Labels(descriptor.labelKeys.map((key, index) => new LabelPair(key, labelValues[index]!)));
    const key = `${name}{${labels.text}`;
    if (series.has(key)) return;
    series.add(key);
    types.set(name, type);
    list.add(name, type, `[INTERNAL] ${descriptor.help}`, labels, Number(value?.value ?? 0n), Number(timestamp / 1_000_000n));
  };
  for (const { metrics, containerMetrics } of pods) {
    for (const metric of metrics) add(metric);
    for (const container of containerMetrics) for (const metric of container.metrics) add(metric);
  }
  return list.sorted();
}

function isValid({ name, labelKeys }: MetricDescriptor): boolean {
  const areLabelsValid = labelKeys.every((key) => validLabel.test(key) && key !== 'le') && new Set(labelKeys).size === labelKeys.length;
  return validName.test(name) && !ownName.test(name) && areLabelsValid;
}
