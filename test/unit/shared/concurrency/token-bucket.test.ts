import assert from 'node:assert/strict';
import { test } from 'node:test';
import { effectiveLimit, TokenBucket } from '../../../../src/shared/concurrency/token-bucket.ts';
import { table } from '../../../support/table.ts';

/** Returns the result of each `take` at these times. */
const takes = (limit: { qps: number; burst: number }, times: readonly number[]) => {
  const bucket = new TokenBucket(limit, 0);
  return times.map((at) => bucket.take(at));
};

const cases: { name: string; limit: { qps: number; burst: number }; at: number[]; want: number[] }[] = [
  {
    name: 'the burst passes at once, then one call per tenth of a second',
    limit: { qps: 10, burst: 2 },
    at: [0, 0, 0, 50, 100, 100],
    want: [0, 0, 100, 50, 0, 100],
  },
  {
    name: 'an idle time fills the bucket up to the burst',
    limit: { qps: 10, burst: 2 },
    at: [60_000, 60_000, 60_000],
    want: [0, 0, 100],
  },
  { name: 'a clock that goes back adds no tokens', limit: { qps: 1, burst: 1 }, at: [5_000, 4_000], want: [0, 1000] },
  { name: 'an infinite rate never waits', limit: { qps: Infinity, burst: 1 }, at: [0, 0, 0, 5, 5], want: [0, 0, 0, 0, 0] },
  {
    name: 'a hundred small waits add up to a token',
    limit: { qps: 10, burst: 1 },
    at: [0, ...Array.from({ length: 10 }, (_, i) => (i + 1) * 10)],
    want: [0, 90, 80, 70, 60, 50, 40, 30, 20, 10, 0],
  },
];
table('requests wait for a token', (row) => {
  for (const { name, limit, at, want } of cases) {
    row(name, () => assert.deepEqual(takes(limit, at).map(Math.round), want));
  }
});

test('a rate of 0 means 5 a second, as in client-go', () => {
  assert.deepEqual(effectiveLimit({ qps: 0, burst: 0 }), { qps: 5, burst: 10 });
  assert.deepEqual(effectiveLimit({ qps: 50, burst: 100 }), { qps: 50, burst: 100 });
});
