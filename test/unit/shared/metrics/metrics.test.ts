import assert from 'node:assert/strict';
import { afterEach, describe, test } from 'node:test';
import {
  bindMetrics,
  counter,
  createMetricsSegment,
  droppedSeries,
  gauge,
  histogram,
  renderMetrics,
  total,
} from '../../../../src/shared/metrics/index.ts';
import { definitions } from '../../../../src/shared/metrics/definitions/all-definitions.ts';
import { formatNumber } from '../../../../src/shared/metrics/exposition/text.ts';
import { table } from '../../../support/table.ts';

// The hook is inside the suite: a top-level hook would apply to the tests of all files, which share one process.
describe('metrics', () => {
  afterEach(() => bindMetrics(null));

  const lines = (text: string) => text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));

  test('a metric has no effect before its thread is bound', () => {
    const pods = counter('pods_total', 'Pods.');
    pods.inc();
    const segment = createMetricsSegment();
    bindMetrics(segment);
    pods.inc();
    pods.inc({}, 2.5);
    assert.equal(renderMetrics([segment], [pods]), '# HELP pods_total [ALPHA] Pods.\n# TYPE pods_total counter\npods_total 3.5\n');
  });

  test('a metric without labels is shown from the start, one with labels once it has a series', () => {
    const plain = gauge('plain', 'Plain.', [], 'none');
    const latency = histogram('latency_seconds', 'Latency.', [], [1], 'BETA');
    const labelled = counter('labelled_total', 'Labelled.', ['a']);
    assert.deepEqual(renderMetrics([createMetricsSegment()], [plain, labelled, latency]).split('\n'), [
      '# HELP latency_seconds [BETA] Latency.',
      '# TYPE latency_seconds histogram',
      'latency_seconds_bucket{le="1"} 0',
      'latency_seconds_bucket{le="+Inf"} 0',
      'latency_seconds_sum 0',
      'latency_seconds_count 0',
      '# HELP plain Plain.',
      '# TYPE plain gauge',
      'plain 0',
      '',
    ]);
  });

  test('counters and histograms are summed over the threads, and sorted by names and labels', () => {
    const operations = counter('operations_total', 'Operations.', ['type', 'code']);
    const seconds = histogram('seconds', 'Seconds.', ['type'], [0.5, 1]);
    const segments = [createMetricsSegment(), createMetricsSegment()];
    for (const segment of segments) {
      bindMetrics(segment);
      operations.inc({ type: 'start', code: 'b' });
      operations.inc({ type: 'list', code: 'b' });
      operations.inc({ type: 'start', code: 'a' });
      for (const value of [0.5, 0.7, 2]) seconds.observe(value, { type: 'start' });
    }
    assert.deepEqual(lines(renderMetrics(segments, [seconds, operations])), [
      'operations_total{code="a",type="start"} 2',
      'operations_total{code="b",type="list"} 2',
      'operations_total{code="b",type="start"} 2',
      'seconds_bucket{type="start",le="0.5"} 2',
      'seconds_bucket{type="start",le="1"} 4',
      'seconds_bucket{type="start",le="+Inf"} 6',
      'seconds_sum{type="start"} 6.4',
      'seconds_count{type="start"} 6',
    ]);
  });

  test('a gauge is the sum over the threads, or the largest value if defined so', () => {
    const inFlight = gauge('in_flight', 'In flight.');
    const lastSeen = gauge('last_seen', 'Last seen.', [], 'ALPHA', 'max');
    const segments = [3, 5].map((value) => {
      const segment = createMetricsSegment();
      bindMetrics(segment);
      inFlight.set(value);
      inFlight.add(1);
      lastSeen.set(value);
      return segment;
    });
    assert.deepEqual(lines(renderMetrics(segments, [inFlight, lastSeen])), ['in_flight 10', 'last_seen 5']);
  });

  test("a thread's successor continues its counters, but not its gauges", () => {
    const syncs = counter('syncs_total', 'Syncs.', ['result']);
    const seconds = histogram('seconds', 'Seconds.', [], [1]);
    const running = gauge('running', 'Running.', ['kind']);
    const segment = createMetricsSegment();
    bindMetrics(segment);
    syncs.inc({ result: 'ok' });
    seconds.observe(2);
    running.set(7, { kind: 'a' });
    running.set(8, { kind: 'b' });
    bindMetrics(segment);
    syncs.inc({ result: 'ok' });
    running.add(1, { kind: 'a' });
    assert.deepEqual(lines(renderMetrics([segment], [syncs, running, seconds])), [
      'running{kind="a"} 1',
      'seconds_bucket{le="1"} 0',
      'seconds_bucket{le="+Inf"} 1',
      'seconds_sum 2',
      'seconds_count 1',
      'syncs_total{result="ok"} 2',
    ]);
  });

  test('a removed gauge is not shown until it is set again', () => {
    const volume = gauge('volume_bytes', 'Volume.', ['name']);
    const segment = createMetricsSegment();
    bindMetrics(segment);
    volume.set(1, { name: 'a' });
    volume.remove({ name: 'a' });
    assert.equal(renderMetrics([segment], [volume]), '');
    volume.set(2, { name: 'a' });
    assert.deepEqual(lines(renderMetrics([segment], [volume])), ['volume_bytes{name="a"} 2']);
  });

  test('hostile label values are escaped and truncated, and never break a line', () => {
    const named = counter('named_total', 'Back\\slash\nand line.', ['name']);
    const segment = createMetricsSegment();
    bindMetrics(segment);
    named.inc({ name: 'quote " back \\ line \n \\n end' });
    named.inc({ name: 'x'.repeat(5000) });
    const [first, second, third] = renderMetrics([segment], [named])
      .split('\n')
      .filter((line) => !line.startsWith('# T'));
    assert.equal(first, '# HELP named_total [ALPHA] Back\\\\slash\\nand line.');
    assert.equal(second, 'named_total{name="quote \\" back \\\\ line \\n \\\\n end"} 1');
    assert.equal(third, `named_total{name="${'x'.repeat(256)}"} 1`);
  });

  test('series that do not fit into a segment are dropped and counted', () => {
    const many = counter('many_total', 'Many.', ['name']);
    const segment = createMetricsSegment();
    bindMetrics(segment);
    for (let i = 0; i < 800; i += 1) many.inc({ name: `${i}`.padEnd(256, 'x') });
    assert.ok(droppedSeries([segment]) > 100);
    const dropped = droppedSeries([segment]);
    assert.equal(lines(renderMetrics([segment], [many])).length, 800 - dropped);
  });

  test('a label is not cut off within a character', () => {
    const named = counter('named_total', 'Named.', ['name']);
    const segment = createMetricsSegment();
    bindMetrics(segment);
    named.inc({ name: `${'x'.repeat(255)}😀` });
    assert.deepEqual(lines(renderMetrics([segment], [named])), [`named_total{name="${'x'.repeat(255)}"} 1`]);
  });

  test('a series of another type or size is not updated', () => {
    const segment = createMetricsSegment();
    bindMetrics(segment);
    histogram('changed', 'Old.', [], [1, 2]).observe(1);
    const now = histogram('changed', 'New.', [], [1]);
    now.observe(1);
    assert.match(renderMetrics([segment], [now]), /changed_count 0/);
  });

  test('a total from elsewhere is rendered as a counter', () => {
    const cpu = total('cpu_seconds_total', 'CPU.', [], 'none');
    const segment = createMetricsSegment();
    bindMetrics(segment);
    cpu.set(4);
    cpu.set(12);
    assert.match(renderMetrics([segment], [cpu]), /# TYPE cpu_seconds_total counter\ncpu_seconds_total 12\n/);
  });

  const numbers: [number, string][] = [
    [0, '0'],
    [0.005, '0.005'],
    [0.0001, '0.0001'],
    [0.00001, '1e-05'],
    [123456, '123456'],
    [1e6, '1e+06'],
    [1763724682.25, '1.76372468225e+09'],
    [-2.5, '-2.5'],
    [Infinity, '+Inf'],
    [-Infinity, '-Inf'],
    [NaN, 'NaN'],
  ];
  table('writes numbers as Prometheus does', (row) => {
    for (const [value, want] of numbers) row(`${value} is rendered as ${want}`, () => assert.equal(formatNumber(value), want));
  });

  test('every metric of the kubelet has a unique name', () => {
    const names = definitions.map(({ name }) => name);
    assert.deepEqual(names, [...new Set(names)]);
  });
});
