/** Renders the segments of all threads in Prometheus' text format. */
import { collectMetrics } from './collect-metrics.ts';
import { textOf } from './exposition/text.ts';
import type { MetricDefinition } from './metrics.ts';

export function renderMetrics(segments: readonly SharedArrayBuffer[], definitions: readonly MetricDefinition[]): string {
  return textOf(collectMetrics(segments, definitions));
}
