/** The content of a page of metrics, independent of the page's format: families of samples. Upstream: client_model's metrics.proto. */
import type { NativeBuckets } from '../native/native-buckets.ts';
import type { Labels } from './labels.ts';

export interface MetricFamily {
  readonly name: string;
  /** As people read it; formats escape it. */
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  /** Read once, while the page is sent. A family without samples is not shown. */
  readonly samples: Iterable<Sample>;
}

export interface Sample {
  readonly labels: Labels;
  readonly value: number | HistogramValue;
  /** When the value was measured. Undefined: at the request. */
  readonly timestampMs?: number;
  /** When a counter or histogram began at 0. The text format has no field for this time. */
  readonly createdAtMs?: number;
}

export interface HistogramValue {
  readonly sum: number;
  /** Upper bounds, ascending, without +Inf. */
  readonly bounds: readonly number[];
  /** The number of values in each bucket, and of those above the last bound. */
  readonly counts: ArrayLike<number>;
  /** The same values in exponential buckets. Undefined: not known. The text format has no such buckets. */
  readonly native?: NativeBuckets | undefined;
}

/** @param timestampMs 0: none */
export function aSample(labels: Labels, value: number, timestampMs?: number): Sample {
  return timestampMs !== undefined && timestampMs > 0 ? { labels, value, timestampMs } : { labels, value };
}
