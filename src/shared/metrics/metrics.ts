/** The types of metrics. Each metric is a module constant in `definitions/`, and has no effect until the thread is bound to its segment. */
export type LabelValues<L extends string = string> = Readonly<Record<L, string>>;

export interface Counter<L extends string = string> {
  inc(labels?: LabelValues<L>, delta?: number): void;
  /** Sets this thread's part of the counter to 0. */
  reset(labels?: LabelValues<L>): void;
}
export interface Gauge<L extends string = string> {
  set(value: number, labels?: LabelValues<L>): void;
  add(delta: number, labels?: LabelValues<L>): void;
  /** Hides the series until it is set again. */
  remove(labels?: LabelValues<L>): void;
}
export interface Histogram<L extends string = string> {
  /** In the base unit of the metric's name: seconds or bytes. */
  observe(value: number, labels?: LabelValues<L>): void;
}

/** Kubernetes' stability level, shown before the help text. `none` shows no level (`process_…` and similar). */
export type Stability = 'ALPHA' | 'BETA' | 'STABLE' | 'INTERNAL' | 'none';

/** The definition of a metric. */
export interface MetricDefinition {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly labelNames: readonly string[];
  readonly stability: Stability;
  /** Upper bounds, ascending, without +Inf. Empty unless the metric is a histogram. */
  readonly buckets: readonly number[];
  /** How the values of several threads for one series are combined. Counters and histograms are sums. */
  readonly combine: 'sum' | 'max' | 'min';
  /** The value is a time in wall-clock ms, and is shown as the seconds until then; +Inf when it is not set. */
  readonly isDeadline?: boolean;
}
