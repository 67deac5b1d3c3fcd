/** The labels of a cgroup's metrics: six common ones, with those of single metrics in between. Sorted by name, as Prometheus' client library writes them. Pure. */
import { label } from '../../../shared/metrics/metrics-text.ts';
import type { CgroupIdentity } from '../../../shared/state/usage-table.ts';

/** Upstream: containerPrometheusLabelsFunc of pkg/kubelet/server/server.go. */
const commonNames = ['container', 'id', 'image', 'name', 'namespace', 'pod'] as const;

/** Each with its place: the number of common labels before it. */
export type ExtraLabels = readonly { readonly place: number; readonly text: string }[];

export function extraLabels(labels: Readonly<Record<string, string>>): ExtraLabels {
  return Object.entries(labels)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => ({ place: commonNames.filter((common) => common < name).length, text: label(name, value) }));
}

/** The common labels of one cgroup. */
export class CommonLabels {
  readonly text: string;
  /** Where each label begins in the text. */
  readonly #starts: readonly number[];

  constructor(identity: CgroupIdentity) {
    const pairs = [
      label('container', identity.containerName),
      label('id', identity.path),
      label('image', identity.image),
      label('name', identity.containerID),
      label('namespace', identity.podNamespace),
      label('pod', identity.podName),
    ];
    const starts = [0];
    for (const [index, pair] of pairs.entries()) starts.push(starts[index]! + pair.length + 1);
    this.#starts = starts;
    this.text = pairs.join(',');
  }

  with(extra: ExtraLabels): string {
    let all = '';
    let from = 0;
    for (const { place, text } of extra) {
      const to = this.#starts[place]!;
      // Behind the last common label there is no comma.
      all += to > this.text.length ? `${this.text.slice(from)},${text}` : `${this.text.slice(from, to)}${text},`;
      from = to;
    }
    return all + this.text.slice(from);
  }
}
