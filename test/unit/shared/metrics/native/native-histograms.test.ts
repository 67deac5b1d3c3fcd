/** Native histograms of several threads, of threads that end, and of full segments. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { collectMetrics, createMetricsSegment, histogram, type MetricDefinition } from '../../../../../src/shared/metrics/index.ts';
import { bindMetrics } from '../../../../../src/shared/metrics/define.ts';
import type { HistogramValue } from '../../../../../src/shared/metrics/exposition/metric-family.ts';
import { nativeTableBytes, NativeTable } from '../../../../../src/shared/metrics/native/native-table.ts';

const bounds = [1, 2];
const valueOf = (segments: readonly SharedArrayBuffer[], metric: MetricDefinition): HistogramValue => {
  const [sample] = [...collectMetrics(segments, [metric])[0]!.samples];
  return sample!.value as HistogramValue;
};
function inThread(segment: SharedArrayBuffer, use: () => void): void {
  bindMetrics(segment);
  use();
  bindMetrics(null);
}

test('the histograms of threads are added at the coarsest resolution of them', () => {
  const seconds = histogram('seconds', 'Seconds.', [], bounds);
  const segments = [createMetricsSegment(), createMetricsSegment()];
  inThread(segments[0]!, () => {
    for (const value of [1, 1, 0]) seconds.observe(value);
  });
  inThread(segments[1]!, () => {
    for (let i = 0; i < 161; i += 1) seconds.observe(1.01 * 2 ** (i / 8));
  });
  const { native, counts, sum } = valueOf(segments, seconds);
  assert.equal(native?.schema, 2);
  assert.equal(native?.zeroCount, 1);
  assert.equal(native?.counts.get(0), 2);
  assert.equal(native?.total(), 164);
  assert.deepEqual(
    [...(counts as Float64Array)].reduce((a, b) => a + b),
    164,
  );
  assert.ok(sum > 2);
});

test('a successor of a thread goes on with its histogram', () => {
  const seconds = histogram('seconds', 'Seconds.', ['of'], bounds);
  const segment = createMetricsSegment();
  inThread(segment, () => seconds.observe(1, { of: 'a' }));
  inThread(segment, () => seconds.observe(1, { of: 'a' }));
  assert.equal(valueOf([segment], seconds).native?.counts.get(0), 2);
});

test('a histogram without values is native, too', () => {
  assert.equal(valueOf([createMetricsSegment()], histogram('seconds', 'Seconds.', [], bounds)).native?.total(), 0);
});

test('native buckets that do not add up are not shown, the classic ones are', () => {
  const seconds = histogram('seconds', 'Seconds.', [], bounds);
  const [segment, other] = [createMetricsSegment(), createMetricsSegment()];
  inThread(other, () => seconds.observe(1));
  inThread(segment, () => {
    // Both signs, at every power of 2: more buckets than a table has at the coarsest resolution.
    for (let i = -127; i <= 1023; i += 1) for (const sign of [1, -1]) seconds.observe(sign * 2 ** i);
  });
  assert.ok(valueOf([segment, other], seconds).native !== undefined);
  const full = new SharedArrayBuffer(nativeTableBytes);
  const table = new NativeTable(full, 0);
  table.observe(1);
  Atomics.store(new Int32Array(full), 1, -1);
  table.observe(1);
  assert.equal(table.read(), undefined);
});

test('histograms beyond the native tables of a segment have classic buckets only', () => {
  const seconds = histogram('seconds', 'Seconds.', ['of'], bounds);
  const segment = createMetricsSegment();
  inThread(segment, () => {
    for (let i = 0; i < 600; i += 1) seconds.observe(1, { of: String(i) });
  });
  const values = [...collectMetrics([segment], [seconds])[0]!.samples].map(({ value }) => value as HistogramValue);
  assert.equal(values.length, 600);
  assert.equal(values.filter(({ native }) => native === undefined).length, 600 - 512);
});
