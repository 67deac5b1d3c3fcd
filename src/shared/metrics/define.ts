/**
 * Declares metrics: `counter`, `gauge` and `histogram` create the module constants in `definitions/`. A metric has no effect until the thread is bound to its
 * segment (`bindMetrics`), so that pure code can update metrics in tests.
 */
import type { Counter, Gauge, Histogram, LabelValues, MetricDefinition, Stability } from './metrics.ts';
import type { NativeTable } from './native/native-table.ts';
import { SegmentWriter } from './segment.ts';

/** This thread's segment. */
let bound: SegmentWriter | null = null;

/** Binds all metrics of this thread to a segment; null unbinds them. A segment has one thread at a time. */
export function bindMetrics(segment: SharedArrayBuffer | null): void {
  bound = segment && new SegmentWriter(segment);
}

/** A series in this thread's segment. */
interface OpenSeries {
  readonly cells: Float64Array;
  readonly firstCell: number;
  readonly native: NativeTable | undefined;
}

/** The common part of all metrics: the definition, and the cells of each series. */
class Metric<L extends string> implements MetricDefinition {
  readonly name: string;
  readonly help: string;
  readonly type: MetricDefinition['type'];
  readonly labelNames: readonly L[];
  readonly stability: Stability;
  readonly buckets: readonly number[];
  readonly combine: MetricDefinition['combine'];
  readonly isDeadline: boolean;
  #segment: SegmentWriter | null = null;
  #open = new Map<string, OpenSeries>();

  constructor(definition: Omit<MetricDefinition, 'labelNames'> & { readonly labelNames: readonly L[] }) {
    this.name = definition.name;
    this.help = definition.help;
    this.type = definition.type;
    this.labelNames = definition.labelNames;
    this.stability = definition.stability;
    this.buckets = definition.buckets;
    this.combine = definition.combine;
    this.isDeadline = definition.isDeadline ?? false;
  }

  /** Undefined when no segment is bound, or the segment is full. */
  protected series(labels: LabelValues<L> | undefined): OpenSeries | undefined {
    if (!bound) return undefined;
    if (this.#segment !== bound) {
      this.#segment = bound;
      this.#open.clear();
    }
    const values = this.labelNames.map((name) => labels?.[name] ?? '');
    const key = values.join('\u0000');
    const known = this.#open.get(key);
    if (known) return known;
    const opened = bound.open(this, values);
    // A series that does not fit is not cached: each update tries again, and counts as dropped again.
    if (!opened) return undefined;
    const native = opened.nativeTable === undefined ? undefined : bound.nativeTable(opened.nativeTable);
    const series = { cells: bound.cells, firstCell: opened.cell, native };
    this.#open.set(key, series);
    return series;
  }
}

class CounterMetric<L extends string> extends Metric<L> implements Counter<L> {
  inc(labels?: LabelValues<L>, by = 1): void {
    const series = this.series(labels);
    if (series && by > 0) series.cells[series.firstCell]! += by;
  }
  reset(labels?: LabelValues<L>): void {
    const series = this.series(labels);
    if (series) series.cells[series.firstCell] = 0;
  }
}

class GaugeMetric<L extends string> extends Metric<L> implements Gauge<L> {
  set(value: number, labels?: LabelValues<L>): void {
    const series = this.series(labels);
    if (series) series.cells[series.firstCell] = value;
  }
  add(delta: number, labels?: LabelValues<L>): void {
    const series = this.series(labels);
    if (series) series.cells[series.firstCell] = (series.cells[series.firstCell] || 0) + delta;
  }
  remove(labels?: LabelValues<L>): void {
    // Pages leave NaN out.
    this.set(NaN, labels);
  }
}

/** The cells of a series: the sum, then the count of each bucket and of the values above the last bucket. */
class HistogramMetric<L extends string> extends Metric<L> implements Histogram<L> {
  observe(value: number, labels?: LabelValues<L>): void {
    const series = this.series(labels);
    if (!series) return;
    const bucket = this.buckets.findIndex((upperBound) => value <= upperBound);
    series.cells[series.firstCell]! += value;
    series.cells[series.firstCell + 1 + (bucket < 0 ? this.buckets.length : bucket)]! += 1;
    series.native?.observe(value);
  }
}

export function counter<const L extends string = never>(
  name: string,
  help: string,
  labelNames: readonly L[] = [],
  stability: Stability = 'ALPHA',
): Counter<L> & MetricDefinition {
  return new CounterMetric({ name, help, type: 'counter', labelNames, stability, buckets: [], combine: 'sum' });
}

/** A series that several threads set shows the sum of their values; with `max` or `min` the largest or the smallest one. */
export function gauge<const L extends string = never>(
  name: string,
  help: string,
  labelNames: readonly L[] = [],
  stability: Stability = 'ALPHA',
  combine: MetricDefinition['combine'] = 'sum',
): Gauge<L> & MetricDefinition {
  return new GaugeMetric({ name, help, type: 'gauge', labelNames, stability, buckets: [], combine });
}

/** A gauge that is set to a time in wall-clock ms, and shows the seconds that remain until then. */
export function remainingSeconds(name: string, help: string): Gauge<never> & MetricDefinition {
  return new GaugeMetric({ name, help, type: 'gauge', labelNames: [], stability: 'ALPHA', buckets: [], combine: 'min', isDeadline: true });
}

/** A counter whose total comes from elsewhere (the kernel, or a table). One thread sets it, as it sets a gauge; the page shows a counter. */
export function total<const L extends string = never>(
  name: string,
  help: string,
  labelNames: readonly L[] = [],
  stability: Stability = 'ALPHA',
): Gauge<L> & MetricDefinition {
  return new GaugeMetric({ name, help, type: 'counter', labelNames, stability, buckets: [], combine: 'max' });
}

export function histogram<const L extends string = never>(
  name: string,
  help: string,
  labelNames: readonly L[] = [],
  buckets: readonly number[] = defaultBuckets,
  stability: Stability = 'ALPHA',
): Histogram<L> & MetricDefinition {
  return new HistogramMetric({ name, help, type: 'histogram', labelNames, stability, buckets, combine: 'sum' });
}

/** Prometheus' default (client_golang DefBuckets), for seconds. */
export const defaultBuckets: readonly number[] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** `count` bounds from `start`, each `factor` times the previous one. */
export function exponentialBuckets(start: number, factor: number, count: number): number[] {
  return Array.from({ length: count }, (_, i) => start * factor ** i);
}
/** `count` bounds from `start`, each `width` above the previous one. */
export function linearBuckets(start: number, width: number, count: number): number[] {
  return Array.from({ length: count }, (_, i) => start + width * i);
}
