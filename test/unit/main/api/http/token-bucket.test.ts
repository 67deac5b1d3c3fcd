import assert from 'node:assert/strict';
import { test } from 'node:test';
import { effectiveLimit, TokenBucket } from '../../../../../src/main/api/http/token-bucket.ts';
import { table } from '../../../../support/table.ts';

/** The wait for each take, at these times. */
const takes = (limit: { qps: number; burst: number }, times: readonly number[]) => {
  const bucket = new TokenBucket(limit, 0);
  return times.map((at) => bucket.take(at));
};

const cases: { name: string; limit: { qps: number; burst: number }; at: number[]; want: number[] }[] = [
  {
    name: 'the burst goes at once, then one a tenth of a second',
    limit: { qps: 10, burst: 2 },
    at: [0, 0, 0, 50, 100, 100],
    want: [0, 0, 100, 50, 0, 100],
  },
  {
    name: 'a rest fills the bucket no higher than the burst',
    limit: { qps: 10, burst: 2 },
    at: [60_000, 60_000, 60_000],
    want: [0, 0, 100],
  },
  { name: 'a clock that goes back fills nothing', limit: { qps: 1, burst: 1 }, at: [5_000, 4_000], want: [0, 1000] },
  {
    name: 'a hundred small waits make a token',
    limit: { qps: 10, burst: 1 },
    at: [0, ...Array.from({ length: 10 }, (_, i) => (i + 1) * 10)],
    want: [0, 90, 80, 70, 60, 50, 40, 30, 20, 10, 0],
  },
];
table('requests wait for their token', (row) => {
  for (const { name, limit, at, want } of cases) {
    row(name, () => assert.deepEqual(takes(limit, at).map(Math.round), want));
  }
});

test('a rate of 0 is what client-go makes of it: 5 a second', () => {
  assert.deepEqual(effectiveLimit({ qps: 0, burst: 0 }), { qps: 5, burst: 10 });
  assert.deepEqual(effectiveLimit({ qps: 50, burst: 100 }), { qps: 50, burst: 100 });
});
