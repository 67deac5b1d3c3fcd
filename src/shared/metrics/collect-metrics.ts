/**
 * Combines the metrics of all threads, from their segments (segment.ts), to families for a page. The metrics are sorted by name, the series by their label
 * values. Counters and histograms are summed over the threads; gauges are combined as their definition requires. As in client_golang, a metric without labels
 * is always shown, a metric with labels once it has a series.
 */
import { LabelPair, Labels } from './exposition/labels.ts';
import type { MetricFamily, Sample } from './exposition/metric-family.ts';
import type { MetricDefinition } from './metrics.ts';
import { NativeBuckets } from './native/native-buckets.ts';
import { SegmentReader, type Series } from './segment.ts';

/** One series of all threads. */
interface Combined {
  readonly labelValues: readonly string[];
  readonly cells: Float64Array;
  createdAtMs: number | undefined;
  /** Undefined: the native buckets of at least one thread are missing. */
  native: NativeBuckets | undefined;
}

export function collectMetrics(segments: readonly SharedArrayBuffer[], definitions: readonly MetricDefinition[]): MetricFamily[] {
  const byName = new Map(definitions.map((definition) => [definition.name, { definition, combined: new Map<string, Combined>() }]));
  for (const segment of segments) collect(new SegmentReader(segment), byName);
  return [...byName.values()].map(({ definition, combined }) => toFamily(definition, combined)).sort((a, b) => compare(a.name, b.name));
}

/** The number of series that did not fit into the segments. */
export function droppedSeries(segments: readonly SharedArrayBuffer[]): number {
  return segments.reduce((sum, segment) => sum + new SegmentReader(segment).dropped, 0);
}

function toFamily(definition: MetricDefinition, combined: Map<string, Combined>): MetricFamily {
  const { name, type, labelNames } = definition;
  if (combined.size === 0 && labelNames.length === 0) {
    combined.set('', { labelValues: [], cells: emptyCells(definition), createdAtMs: undefined, native: new NativeBuckets() });
  }
  const labels = labelNames.map((label, index) => ({ name: label, index })).sort((a, b) => compare(a.name, b.name));
  const sorted = [...combined.values()].sort((a, b) => compareLabels(a.labelValues, b.labelValues, labels));
  const samples = sorted.map((each): Sample => {
    const pairs = labels.map((label) => new LabelPair(label.name, each.labelValues[label.index] ?? ''));
    const created = each.createdAtMs !== undefined && { createdAtMs: each.createdAtMs };
    return { labels: new Labels(pairs), value: valueOf(definition, each), ...created };
  });
  return { name, type, help: helpOf(definition), samples };
}

function valueOf(definition: MetricDefinition, { cells, native }: Combined): Sample['value'] {
  if (definition.type !== 'histogram') return shownValue(definition, cells[0]!);
  return { sum: cells[0]!, bounds: definition.buckets, counts: cells.subarray(1), native };
}

function collect(
  segment: SegmentReader,
  byName: ReadonlyMap<string, { readonly definition: MetricDefinition; readonly combined: Map<string, Combined> }>,
): void {
  for (const [series] of segment.series()) {
    const { name, type, labelValues } = series;
    const metric = byName.get(name);
    if (!metric) continue;
    const { definition, combined } = metric;
    if ((definition.type === 'histogram') !== (type === 'histogram') || series.cells !== emptyCells(definition).length) continue;
    const { cells, native } = readSeries(segment, series);
    // NaN: a gauge that was removed, or that a restarted thread has not set yet.
    if (Number.isNaN(cells[0])) continue;
    const createdAtMs = beginsAtZero(definition) ? series.createdAtMs : undefined;
    const key = labelValues.join('\u0000');
    const known = combined.get(key);
    if (known) add(definition, known, { cells, native, createdAtMs });
    else combined.set(key, { labelValues, cells, native, createdAtMs });
  }
}

function add(definition: MetricDefinition, to: Combined, { cells, native, createdAtMs }: Omit<Combined, 'labelValues'>): void {
  cells.forEach((value, i) => (to.cells[i] = combinedValue(definition, to.cells[i]!, value)));
  if (native) to.native?.add(native);
  else to.native = undefined;
  if (createdAtMs !== undefined) to.createdAtMs = Math.min(createdAtMs, to.createdAtMs ?? createdAtMs);
}

/** A histogram's thread may count while the histogram is read. After this many reads its native buckets are left out. */
const maxReads = 3;

function readSeries(segment: SegmentReader, { cell, cells, nativeTable }: Series): Pick<Combined, 'cells' | 'native'> {
  for (let reads = 1; ; reads += 1) {
    const values = segment.cells.slice(cell, cell + cells);
    const native = nativeTable === undefined ? undefined : segment.nativeTable(nativeTable).read();
    // Prometheus refuses a native histogram whose buckets do not add up.
    const isWhole = native !== undefined && native.total() === values.subarray(1).reduce((sum, count) => sum + count, 0);
    if (isWhole || nativeTable === undefined || reads === maxReads) return { cells: values, native: isWhole ? native : undefined };
  }
}

/** Whether the value has counted up from 0 since the series was created. `total`, a counter with `max`, shows a total from elsewhere. */
function beginsAtZero({ type, combine }: MetricDefinition): boolean {
  return type !== 'gauge' && combine === 'sum';
}

function combinedValue({ combine }: MetricDefinition, a: number, b: number): number {
  if (combine === 'sum') return a + b;
  return combine === 'max' ? Math.max(a, b) : Math.min(a, b);
}

/** The cells of a series without values. A histogram has its sum, a count for each bucket, and the count above the last bucket. */
function emptyCells({ type, buckets, isDeadline }: MetricDefinition): Float64Array {
  return isDeadline ? new Float64Array([Infinity]) : new Float64Array(type === 'histogram' ? buckets.length + 2 : 1);
}

function shownValue({ isDeadline }: MetricDefinition, value: number): number {
  return isDeadline ? Math.trunc((value - Date.now()) / 1000) : value;
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
