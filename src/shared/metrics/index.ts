/**
 * Metrics in shared memory. A room declares its own in `definitions/<room>.ts` with `counter`, `gauge`, `histogram`, and counts by
 * `metric.inc()`, `.set()`, `.observe()`; a thread binds itself once (`bindMetrics`); the server thread renders all of them.
 */
export { bindMetrics, counter, defaultBuckets, exponentialBuckets, gauge, histogram, linearBuckets, total } from './define.ts';
export type { Counter, Gauge, Histogram, Labels, MetricDefinition, Stability } from './metrics.ts';
export { droppedSeries, renderMetrics } from './render.ts';
export { createMetricsSegment } from './segment.ts';
