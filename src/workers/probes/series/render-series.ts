/** Renders the metrics of single probes, in slices: 10,000 containers are 300,000 lines of text, and probes must not wait for them. */
import { setImmediate as afterInput } from 'node:timers/promises';
import type { ProbeType } from '../../../shared/contracts/probes.ts';
import { defaultBuckets } from '../../../shared/metrics/define.ts';
import { encodeFamilies, toBytes } from '../../../shared/metrics/exposition/encode.ts';
import { labelsOf } from '../../../shared/metrics/exposition/labels.ts';
import type { MetricFamily, Sample } from '../../../shared/metrics/exposition/metric-family.ts';
import type { MetricsFormat } from '../../../shared/metrics/exposition/negotiate.ts';
import type { CountSeries, DurationSeries, ProbeSeries } from './probe-series.ts';

const titles: Readonly<Record<ProbeType, string>> = { liveness: 'Liveness', readiness: 'Readiness', startup: 'Startup' };

/** The bytes are alone in their buffer, so that they can be transferred. */
export async function renderSeries(series: ProbeSeries, format: MetricsFormat): Promise<Uint8Array<ArrayBuffer>> {
  const pieces: (string | Uint8Array)[] = [];
  for (const piece of encodeFamilies(familiesOf(series), format)) {
    pieces.push(piece);
    await afterInput();
  }
  return toBytes(pieces);
}

function familiesOf(series: ProbeSeries): MetricFamily[] {
  return [
    {
      name: 'prober_probe_duration_seconds',
      help: '[ALPHA] Duration in seconds for a probe response.',
      type: 'histogram',
      samples: durationSamples(series.durations()),
    },
    {
      name: 'prober_probe_total',
      help: '[BETA] Cumulative number of a liveness, readiness or startup probe for a container by result.',
      type: 'counter',
      samples: totalSamples(series.counts()),
    },
  ];
}

function* durationSamples(all: readonly DurationSeries[]): Generator<Sample> {
  for (const { pod, container, probe, createdAtMs, sum, counts, native } of all) {
    const labels = labelsOf({ container, namespace: pod.namespace, pod: pod.name, probe_type: titles[probe] });
    yield { labels, value: { sum, bounds: defaultBuckets, counts, native }, createdAtMs };
  }
}

function* totalSamples(all: readonly CountSeries[]): Generator<Sample> {
  for (const { pod, container, probe, createdAtMs, successful, failed } of all) {
    const ofProbe = { container, namespace: pod.namespace, pod: pod.name, pod_uid: pod.uid, probe_type: titles[probe] };
    if (failed > 0) yield { labels: labelsOf({ ...ofProbe, result: 'failed' }), value: failed, createdAtMs };
    if (successful > 0) yield { labels: labelsOf({ ...ofProbe, result: 'successful' }), value: successful, createdAtMs };
  }
}
