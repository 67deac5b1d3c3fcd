/** Renders the metrics of single probes in Prometheus' text format, in slices: 10,000 containers are 300,000 lines, and probes must not wait for them. */
import { setImmediate as afterInput } from 'node:timers/promises';
import type { ProbeType } from '../../../shared/contracts/probes.ts';
import { defaultBuckets } from '../../../shared/metrics/define.ts';
import { escapeLabel, formatNumber } from '../../../shared/metrics/render-metrics.ts';
import type { CountSeries, DurationSeries, ProbeSeries } from './probe-series.ts';

const sliceLength = 200;
const titles: Readonly<Record<ProbeType, string>> = { liveness: 'Liveness', readiness: 'Readiness', startup: 'Startup' };
const bounds = [...defaultBuckets, Infinity].map(formatNumber);

const durationHead = `# HELP prober_probe_duration_seconds [ALPHA] Duration in seconds for a probe response.
# TYPE prober_probe_duration_seconds histogram
`;
const totalHead = `# HELP prober_probe_total [BETA] Cumulative number of a liveness, readiness or startup probe for a container by result.
# TYPE prober_probe_total counter
`;

/** The bytes are alone in their buffer, so that they can be transferred. */
export async function renderSeries(series: ProbeSeries): Promise<Uint8Array> {
  const parts = [
    ...(await renderSlices(durationHead, series.durations(), durationLines)),
    ...(await renderSlices(totalHead, series.counts(), totalLines)),
  ];
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    bytes.set(part, offset);
    offset += part.length;
  }
  return bytes;
}

async function renderSlices<T>(head: string, all: readonly T[], render: (one: T) => string): Promise<Buffer[]> {
  const parts: Buffer[] = [];
  for (let start = 0; start < all.length; start += sliceLength) {
    const text = all
      .slice(start, start + sliceLength)
      .map(render)
      .join('');
    parts.push(Buffer.from(start === 0 ? head + text : text));
    await afterInput();
  }
  return parts;
}

function totalLines({ pod, container, probe, successful, failed }: CountSeries): string {
  const line = (result: string, count: number) =>
    count === 0
      ? ''
      : `prober_probe_total{container="${escapeLabel(container)}",namespace="${escapeLabel(pod.namespace)}",pod="${escapeLabel(pod.name)}",pod_uid="${escapeLabel(pod.uid)}",probe_type="${titles[probe]}",result="${result}"} ${formatNumber(count)}\n`;
  return line('failed', failed) + line('successful', successful);
}

function durationLines({ pod, container, probe, sum, counts }: DurationSeries): string {
  const labels = `container="${escapeLabel(container)}",namespace="${escapeLabel(pod.namespace)}",pod="${escapeLabel(pod.name)}",probe_type="${titles[probe]}"`;
  const name = 'prober_probe_duration_seconds';
  let count = 0;
  const buckets = bounds.map((bound, i) => {
    count += counts[i]!;
    return `${name}_bucket{${labels},le="${bound}"} ${formatNumber(count)}\n`;
  });
  return `${buckets.join('')}${name}_sum{${labels}} ${formatNumber(sum)}\n${name}_count{${labels}} ${formatNumber(count)}\n`;
}
