/**
 * The metrics of the Go kubelet on Linux, by page (upstream test/instrumentation, pkg/kubelet and cadvisor/lib v0.60.5). Without those of Go's runtime, and
 * without cadvisor's that the kubelet does not enable.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface UpstreamMetric {
  readonly page: string;
  readonly name: string;
  readonly type: string;
  readonly stability: string;
  /** Sorted. */
  readonly labels: readonly string[];
  /** Of a histogram. */
  readonly buckets: readonly number[];
}

type Row = [page: string, name: string, type: string, stability: string, labels: string[], buckets?: (number | string)[]];
const rows = JSON.parse(readFileSync(join(import.meta.dirname, 'upstream-metrics.json'), 'utf8')) as Row[];

export const upstreamMetrics: readonly UpstreamMetric[] = rows.map(([page, name, type, stability, labels, buckets = []]) => ({
  page,
  name,
  type,
  stability,
  labels,
  buckets: buckets.map(Number),
}));
