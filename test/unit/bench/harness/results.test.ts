/** The statistics of a benchmark and the tables of its results. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BenchRecord } from '../../../../bench/harness/benchmark.ts';
import { formatAmount, renderResults, replaceReadmeNumbers } from '../../../../bench/harness/results-table.ts';
import { percentile, unionLengthMs } from '../../../../bench/harness/statistics.ts';
import { table } from '../../../support/table.ts';

const percentiles: { samples: number[]; percent: number; want: number }[] = [
  { samples: [3, 1, 2], percent: 50, want: 2 },
  { samples: [1, 2, 3, 4], percent: 50, want: 2 },
  { samples: [5], percent: 99, want: 5 },
  { samples: Array.from({ length: 200 }, (_, i) => i + 1), percent: 99, want: 198 },
];
table('a percentile is one of the samples', (row) => {
  for (const { samples, percent, want } of percentiles) {
    row(`p${percent} of ${samples.length} samples is one of them: ${want}`, () => assert.equal(percentile(samples, percent), want));
  }
});

test('a percentile without samples is an error', () => {
  assert.throws(() => percentile([], 50), /nothing was measured/);
});

test('overlapping calls count once', () => {
  const calls = [
    { startMs: 10, endMs: 20 },
    { startMs: 0, endMs: 5 },
    { startMs: 12, endMs: 15 },
    { startMs: 18, endMs: 25 },
  ];
  assert.equal(unionLengthMs(calls), 20);
});

const amounts: [value: number, unit: string, text: string][] = [
  [0.0312, 'cores', '0.0312 cores'],
  [3.14159, 'ms', '3.14 ms'],
  [31.4159, 'ms', '31.4 ms'],
  [31_415.9, 'MB', '31,416 MB'],
  [2, '', '2'],
];
table('amounts are formatted with three significant digits', (row) => {
  for (const [value, unit, text] of amounts) row(`${value} is formatted as ${text}`, () => assert.equal(formatAmount(value, unit), text));
});

const host = {
  cpu: 'X',
  cores: 2,
  memoryGiB: 24,
  kernel: '6',
  os: 'Debian',
  node: 'v26',
  kubelet: 'abc',
  kubernetes: 'v1.99.1',
  loadBefore: 0.1,
};
const measurement = {
  what: 'relist p99',
  value: 5,
  unit: 'ms',
  peer: 7,
  floor: { what: 'bare lists', value: 3 },
  goal: { text: 'floor + 3 ms', met: true },
};
const at = '2026-01-02T03:04:05.000Z';
const names = ['relist', 'start', 'idle'];

test('the README shows the rows with a goal between its two markers, and the rest is kept', () => {
  const begin = '<!-- numbers: written by npm run bench -->';
  const outcome = { repeats: '3 relists', measurements: [measurement, { what: 'relist p50', value: 2, unit: 'ms' }] };
  const records: BenchRecord[] = [
    { name: 'relist', about: 'A relist.', at, host, outcome },
    { name: 'idle', about: 'Nothing.', at, host, outcome: { failed: 'bin/kubelet is not there' } },
  ];
  const table = `| benchmark | measured | value | Go kubelet | floor | goal |
|---|---|---:|---:|---|---|
| relist | relist p99 | 5 ms | 7 ms | 3 ms (bare lists) | floor + 3 ms: met |`;
  const wanted = `before\n${begin}\n\n${table}\n\n<!-- end of numbers -->\nafter\n`;
  const first = replaceReadmeNumbers(names, records, `before\n${begin}\n<!-- end of numbers -->\nafter\n`);
  assert.equal(first, wanted);
  assert.equal(replaceReadmeNumbers(names, records, first), wanted);
  assert.throws(() => replaceReadmeNumbers(names, records, 'no place'), /the README has no lines/);
});

test('the table shows value, floor and goal, and the error of a failed benchmark', () => {
  const records: BenchRecord[] = [
    { name: 'relist', about: 'A relist.', at, host, outcome: { repeats: '3 relists', measurements: [measurement] } },
    { name: 'idle', about: 'Nothing.', at, host, outcome: { failed: 'bin/kubelet is not there' } },
  ];
  const text = renderResults(names, records, '');
  assert.match(text, /\| relist p99 \| 5 ms \| 7 ms \| 3 ms \(bare lists\) \| floor \+ 3 ms: met \|/);
  assert.doesNotMatch(text, /Others were at work/);
  assert.match(text, /, Kubernetes v1\.99\.1, Node v26, /);
  assert.match(renderResults(names, [{ ...records[0]!, host: { ...host, loadBefore: 3 } }], ''), /Others were at work/);
  assert.match(text, /\*\*Did not run\*\*.*\n\n {4}bin\/kubelet is not there/);
});

test('the tables keep the results of benchmarks that were not run, in order', () => {
  const record = (name: string, value: number): BenchRecord => ({
    name,
    about: `About ${name}.`,
    at,
    host,
    outcome: { repeats: 'once', measurements: [{ ...measurement, value }] },
  });
  const first = [record('relist', 1), record('start', 2), record('idle', 3)];
  const again = record('start', 20);
  const results = renderResults(names, first, '');
  assert.equal(renderResults(names, [again], results), renderResults(names, [first[0]!, again, first[2]!], ''));
  const readme = replaceReadmeNumbers(names, first, '<!-- numbers: written by npm run bench --><!-- end of numbers -->');
  assert.equal(replaceReadmeNumbers(names, [again], readme), replaceReadmeNumbers(names, [first[0]!, again, first[2]!], readme));
});
