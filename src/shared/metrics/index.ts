/**
 * Metrics in shared memory. Each part of the kubelet declares its metrics in `definitions/<part>.ts` with `counter`, `gauge` and `histogram`, and updates them
 * with `inc()`, `set()` and `observe()`. Each thread binds its metrics segment once (`bindMetrics`). The server thread renders the segments of all threads.
 */
export {
  bindMetrics,
  counter,
  defaultBuckets,
  exponentialBuckets,
  gauge,
  histogram,
  linearBuckets,
  remainingSeconds,
  total,
} from './define.ts';
export type { Counter, Gauge, Histogram, LabelValues, MetricDefinition, Stability } from './metrics.ts';
export { collectMetrics, droppedSeries } from './collect-metrics.ts';
export { renderMetrics } from './render-metrics.ts';
export { createMetricsSegment } from './segment.ts';
