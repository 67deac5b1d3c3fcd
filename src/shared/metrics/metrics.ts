/**
 * Metrics, counted by every thread in shared memory and rendered by the server thread without a round trip.
 * Each is declared once, as a module constant in `definitions/`, and is inert until the thread is bound to its segment.
 */
export type Labels<L extends string = string> = Readonly<Record<L, string>>;

export interface Counter<L extends string = string> {
  inc(labels?: Labels<L>, by?: number): void;
  /** What this thread has counted counts no more. */
  reset(labels?: Labels<L>): void;
}
export interface Gauge<L extends string = string> {
  set(value: number, labels?: Labels<L>): void;
  add(by: number, labels?: Labels<L>): void;
  /** The series is not shown any more, until it is set again. */
  remove(labels?: Labels<L>): void;
}
export interface Histogram<L extends string = string> {
  /** Seconds, bytes, or whatever base unit the name says. */
  observe(value: number, labels?: Labels<L>): void;
}

/** Kubernetes' promise about a metric, shown before its help; `none` shows nothing (process_… and the like). */
export type Stability = 'ALPHA' | 'BETA' | 'STABLE' | 'INTERNAL' | 'none';

/** What a metric is, beside what it counts. */
export interface MetricDefinition {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly labelNames: readonly string[];
  readonly stability: Stability;
  /** Upper bounds, ascending, without +Inf; empty for what is no histogram. */
  readonly buckets: readonly number[];
  /** What threads that set the same series make together. Counters and histograms are sums. */
  readonly combine: 'sum' | 'max' | 'min';
}
