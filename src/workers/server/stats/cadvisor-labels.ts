/** The labels of a cgroup's metrics: six common labels, and the extra labels of some metrics. Sorted by name, as in Prometheus' client library. Pure. */
import { LabelPair, Labels } from '../../../shared/metrics/exposition/labels.ts';
import type { CgroupIdentity } from '../../../shared/state/usage-table.ts';

/** Upstream: containerPrometheusLabelsFunc of pkg/kubelet/server/server.go. */
const commonNames = ['container', 'id', 'image', 'name', 'namespace', 'pod'] as const;

/** Each label has its place: the number of common labels before it. */
export type ExtraLabels = readonly { readonly place: number; readonly pair: LabelPair }[];

export function extraLabels(labels: Readonly<Record<string, string>>): ExtraLabels {
  return Object.entries(labels)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => ({ place: commonNames.filter((common) => common < name).length, pair: new LabelPair(name, value) }));
}

export function commonLabels(identity: CgroupIdentity): Labels {
  return new Labels([
    new LabelPair('container', identity.containerName),
    new LabelPair('id', identity.path),
    new LabelPair('image', identity.image),
    new LabelPair('name', identity.containerID),
    new LabelPair('namespace', identity.podNamespace),
    new LabelPair('pod', identity.podName),
  ]);
}

export function withExtra(common: Labels, extra: ExtraLabels): Labels {
  const pairs: LabelPair[] = [];
  let from = 0;
  for (const { place, pair } of extra) {
    pairs.push(...common.pairs.slice(from, place), pair);
    from = place;
  }
  return new Labels([...pairs, ...common.pairs.slice(from)]);
}
