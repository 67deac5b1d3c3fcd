import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeHealthStatus, encodeHealthRequest } from '../../../../../src/workers/probes/actions/health-messages.ts';
import { table } from '../../../../support/table.ts';

test('the request has the service', () => {
  assert.deepEqual([...encodeHealthRequest('')], []);
  assert.deepEqual([...encodeHealthRequest('ab')], [10, 2, 97, 98]);
});

table('decodeHealthStatus', (row) => {
  const cases: readonly [number[], string][] = [
    [[], 'UNKNOWN'],
    [[8, 1], 'SERVING'],
    [[8, 2], 'NOT_SERVING'],
    [[8, 3], 'SERVICE_UNKNOWN'],
    [[8, 7], '7'],
    [[18, 2, 1, 1, 8, 1], 'SERVING'],
  ];
  for (const [bytes, want] of cases) row(want, () => assert.equal(decodeHealthStatus(Uint8Array.from(bytes)), want));
  row('no message', () => assert.throws(() => decodeHealthStatus(Uint8Array.from([8]))));
});
