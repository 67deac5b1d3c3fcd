/**
 * Renders the segments of all threads as a page in Prometheus' text format (version 0.0.4). The metrics are sorted by name, the series by their label values.
 * Counters and histograms are summed over the threads; gauges are combined as their definition requires. As in client_golang, a metric without labels is
 * always shown, a metric with labels once it has a series.
 */
import type { MetricDefinition } from './metrics.ts';
import { SegmentReader } from './segment.ts';

interface Sample {
  readonly labelValues: readonly string[];
  readonly cells: Float64Array;
}

export function renderMetrics(segments: readonly SharedArrayBuffer[], definitions: readonly MetricDefinition[]): string {
  const byName = new Map(definitions.map((definition) => [definition.name, { definition, samples: new Map<string, Sample>() }]));
  for (const segment of segments) collect(new SegmentReader(segment), byName);
  const lines: string[] = [];
  for (const { definition, samples } of [...byName.values()].sort((a, b) => compare(a.definition.name, b.definition.name))) {
    if (samples.size === 0 && definition.labelNames.length === 0) samples.set('', { labelValues: [], cells: emptyCells(definition) });
    if (samples.size === 0) continue;
    lines.push(`# HELP ${definition.name} ${escapeHelp(helpOf(definition))}`, `# TYPE ${definition.name} ${definition.type}`);
    const labels = definition.labelNames.map((name, index) => ({ name, index })).sort((a, b) => compare(a.name, b.name));
    const sorted = [...samples.values()].sort((a, b) => compareLabels(a.labelValues, b.labelValues, labels));
    for (const sample of sorted) {
      const pairs = labels.map(({ name, index }) => `${name}="${escapeLabel(sample.labelValues[index] ?? '')}"`);
      if (definition.type === 'histogram') histogramLines(definition, pairs, sample.cells, lines);
      else lines.push(line(definition.name, pairs, shownValue(definition, sample.cells[0]!)));
    }
  }
  return lines.length === 0 ? '' : `${lines.join('\n')}\n`;
}

/** The number of series that did not fit into the segments. */
export function droppedSeries(segments: readonly SharedArrayBuffer[]): number {
  return segments.reduce((sum, segment) => sum + new SegmentReader(segment).dropped, 0);
}

function collect(
  segment: SegmentReader,
  byName: ReadonlyMap<string, { readonly definition: MetricDefinition; readonly samples: Map<string, Sample> }>,
): void {
  for (const [{ name, type, labelValues, cell, cells }] of segment.series()) {
    const metric = byName.get(name);
    if (!metric || (metric.definition.type === 'histogram') !== (type === 'histogram') || cells !== emptyCells(metric.definition).length)
      continue;
    const values = segment.cells.slice(cell, cell + cells);
    // Skips a gauge that was removed, or that a restarted thread has not set yet.
    if (Number.isNaN(values[0])) continue;
    const key = labelValues.join('\u0000');
    const sample = metric.samples.get(key);
    if (!sample) metric.samples.set(key, { labelValues, cells: values });
    else values.forEach((value, i) => (sample.cells[i] = combined(metric.definition, sample.cells[i]!, value)));
  }
}

function combined({ combine }: MetricDefinition, a: number, b: number): number {
  if (combine === 'sum') return a + b;
  return combine === 'max' ? Math.max(a, b) : Math.min(a, b);
}

function emptyCells({ type, buckets, isDeadline }: MetricDefinition): Float64Array {
  return isDeadline ? new Float64Array([Infinity]) : new Float64Array(type === 'histogram' ? buckets.length + 2 : 1);
}

function shownValue({ isDeadline }: MetricDefinition, value: number): number {
  return isDeadline ? Math.trunc((value - Date.now()) / 1000) : value;
}

function histogramLines({ name, buckets }: MetricDefinition, pairs: readonly string[], cells: Float64Array, lines: string[]): void {
  let count = 0;
  [...buckets, Infinity].forEach((bound, i) => {
    count += cells[i + 1]!;
    lines.push(line(`${name}_bucket`, [...pairs, `le="${formatNumber(bound)}"`], count));
  });
  lines.push(line(`${name}_sum`, pairs, cells[0]!), line(`${name}_count`, pairs, count));
}

function line(name: string, pairs: readonly string[], value: number): string {
  return `${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${formatNumber(value)}`;
}

function helpOf({ help, stability }: MetricDefinition): string {
  return stability === 'none' ? help : `[${stability}] ${help}`;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function compareLabels(a: readonly string[], b: readonly string[], order: readonly { readonly index: number }[]): number {
  for (const { index } of order) {
    const difference = compare(a[index] ?? '', b[index] ?? '');
    if (difference !== 0) return difference;
  }
  return 0;
}

export function escapeHelp(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
}
export function escapeLabel(value: string): string {
  return /[\\\n"]/.test(value) ? escapeHelp(value).replaceAll('"', '\\"') : value;
}

/** The format of Go's strconv with `g` and the fewest digits (`1e+06`, `0.005`), as other exporters use it. */
export function formatNumber(value: number): string {
  const size = Math.abs(value);
  if (value === 0 || (size >= 1e-4 && size < 1e6)) return String(value);
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf';
  const text = value.toExponential();
  // Two digits of the exponent at least.
  return text.at(-3) === 'e' ? `${text.slice(0, -1)}0${text.at(-1)}` : text;
}
