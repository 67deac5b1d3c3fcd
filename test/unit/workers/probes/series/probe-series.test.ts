import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PodUID } from '../../../../../src/shared/kubernetes/ids.ts';
import { ProbeSeries } from '../../../../../src/workers/probes/series/probe-series.ts';
import { renderSeries } from '../../../../../src/workers/probes/series/render-series.ts';

const pod = (name: string, uid: string) => ({ uid: uid as PodUID, namespace: 'n', name });
const render = async (series: ProbeSeries) => new TextDecoder().decode(await renderSeries(series, 'text'));

test('no probe has run: the page is empty', async () => assert.equal(await render(new ProbeSeries()), ''));

test('counts and durations in the text format', async () => {
  const series = new ProbeSeries();
  series.observe(pod('p', 'u'), 'c', 'readiness', 'success', 0.004);
  series.observe(pod('p', 'u'), 'c', 'readiness', 'success', 20);
  series.observe(pod('p', 'u'), 'c', 'readiness', 'failure', 1);
  const labels = 'container="c",namespace="n",pod="p",probe_type="Readiness"';
  const bucket = (bound: string, count: number) => `prober_probe_duration_seconds_bucket{${labels},le="${bound}"} ${count}\n`;
  const bounds = ['0.005', '0.01', '0.025', '0.05', '0.1', '0.25', '0.5', '1', '2.5', '5', '10'];
  assert.equal(
    await render(series),
    [
      '# HELP prober_probe_duration_seconds [ALPHA] Duration in seconds for a probe response.\n',
      '# TYPE prober_probe_duration_seconds histogram\n',
      ...bounds.map((bound) => bucket(bound, 1)),
      bucket('+Inf', 2),
      `prober_probe_duration_seconds_sum{${labels}} 20.004\n`,
      `prober_probe_duration_seconds_count{${labels}} 2\n`,
      '# HELP prober_probe_total [BETA] Cumulative number of a liveness, readiness or startup probe for a container by result.\n',
      '# TYPE prober_probe_total counter\n',
      'prober_probe_total{container="c",namespace="n",pod="p",pod_uid="u",probe_type="Readiness",result="failed"} 1\n',
      'prober_probe_total{container="c",namespace="n",pod="p",pod_uid="u",probe_type="Readiness",result="successful"} 2\n',
    ].join(''),
  );
});

test('series end with their pod; a pod of the same name has no series twice', async () => {
  const series = new ProbeSeries();
  for (const uid of ['u1', 'u2']) series.observe(pod('p', uid), 'c', 'liveness', 'success', 1);
  const lines = (await render(series)).split('\n');
  assert.equal(new Set(lines).size, lines.length);
  assert.equal(lines.filter((line) => line.includes('probe_duration_seconds_count')).length, 1);
  series.removePod(pod('p', 'u1'));
  series.removePod(pod('p', 'u2'));
  assert.equal(await render(series), '');
});

test('a terminating pod keeps the series of readiness only', async () => {
  const series = new ProbeSeries();
  for (const probe of ['liveness', 'readiness', 'startup'] as const) series.observe(pod('p', 'u'), 'c', probe, 'success', 1);
  series.removeStopped(pod('p', 'u'));
  assert.deepEqual(
    series.counts().map(({ probe }) => probe),
    ['readiness'],
  );
  assert.deepEqual(
    series.durations().map(({ probe }) => probe),
    ['readiness'],
  );
});
