/** Checks that the samples of a histogram are complete and add up. */
import assert from 'node:assert/strict';
import { keyOf, type NamedSample } from './prometheus-sample.ts';

/** Throws unless each series has ascending, cumulative buckets that end with +Inf, then one sum and one count, which is that of the last bucket. */
export function checkHistogram(name: string, samples: readonly NamedSample[]): void {
  const series = new Map<string, NamedSample[]>();
  let labelNames: string | undefined;
  for (const sample of samples) {
    const { le, ...labels } = sample.labels;
    assert.equal(sample.name === `${name}_bucket`, le !== undefined, `buckets, and nothing else, have the label le: ${sample.name}`);
    const names = Object.keys(labels).sort().join();
    assert.equal((labelNames ??= names), names, `other labels than before: ${sample.name} ${JSON.stringify(labels)}`);
    const key = keyOf(labels);
    const known = series.get(key);
    if (known) known.push(sample);
    else series.set(key, [sample]);
  }
  for (const [labels, parts] of series) checkSeries(name, `${name} ${labels}`, parts);
}

function checkSeries(name: string, where: string, parts: readonly NamedSample[]): void {
  const buckets = parts.filter((part) => part.name === `${name}_bucket`);
  assert.deepEqual(
    parts.slice(buckets.length).map((part) => part.name),
    [`${name}_sum`, `${name}_count`],
    `${where} does not end with its sum and its count`,
  );
  let [bound, count] = [-Infinity, 0];
  for (const { labels, value } of buckets) {
    const le = labels['le'] === '+Inf' ? Infinity : Number(labels['le']);
    assert.ok(le > bound, `the buckets of ${where} are not ascending at ${labels['le']}`);
    assert.ok(Number.isInteger(value) && value >= count, `the buckets of ${where} are not cumulative at ${labels['le']}`);
    [bound, count] = [le, value];
  }
  assert.equal(bound, Infinity, `${where} has no bucket for +Inf`);
  const [sum, total] = parts.slice(-2);
  assert.equal(total!.value, count, `the count of ${where} is not that of its last bucket`);
  assert.ok(!Number.isNaN(sum!.value), `${where} has no sum`);
}
