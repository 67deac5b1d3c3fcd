import assert from 'node:assert/strict';
import { requestRetryDelayMs, type AttemptFailure } from '../../../../../src/main/api/http/retry-delay.ts';
import type { ApiCall } from '../../../../../src/main/api/api-client.ts';
import { table } from '../../../../support/table.ts';

const responded = (code: number, retryAfterMs?: number): AttemptFailure => ({ kind: 'answered', code, retryAfterMs });
const cases: {
  name: string;
  method: ApiCall['method'];
  failure: AttemptFailure;
  attempts?: number;
  limit?: number;
  want: number | null;
}[] = [
  { name: 'a 429 with Retry-After is retried, also for a create', method: 'POST', failure: responded(429, 1000), want: 1000 },
  { name: 'a 503 with Retry-After is retried', method: 'PATCH', failure: responded(503, 5000), want: 5000 },
  { name: 'a 429 without Retry-After is not retried', method: 'GET', failure: responded(429), want: null },
  { name: 'a 500 without Retry-After is not retried', method: 'GET', failure: responded(500), want: null },
  { name: 'a 409 is not retried, even with Retry-After', method: 'PUT', failure: responded(409, 1000), want: null },
  { name: 'a Retry-After of an hour is not retried', method: 'GET', failure: responded(429, 3_600_000), want: null },
  { name: 'the tenth retry is the last', method: 'GET', failure: responded(429, 1000), attempts: 10, want: 1000 },
  { name: 'there is no eleventh retry', method: 'GET', failure: responded(429, 1000), attempts: 11, want: null },
  { name: 'maxAttempts of 1 allows no retry', method: 'GET', failure: responded(429, 1000), limit: 1, want: null },
  { name: 'a GET with a lost connection is retried', method: 'GET', failure: { kind: 'lost' }, want: 100 },
  {
    name: 'a PATCH with a lost connection may have been executed and is not retried',
    method: 'PATCH',
    failure: { kind: 'lost' },
    want: null,
  },
  {
    name: 'a DELETE with a lost connection may have been executed and is not retried',
    method: 'DELETE',
    failure: { kind: 'lost' },
    want: null,
  },
  { name: 'a create that was never sent is retried', method: 'POST', failure: { kind: 'not sent' }, attempts: 3, want: 400 },
  {
    name: 'an unreachable server ends the call after four attempts',
    method: 'POST',
    failure: { kind: 'not sent' },
    attempts: 4,
    want: null,
  },
  { name: 'a call after its deadline is not retried', method: 'GET', failure: { kind: 'final' }, want: null },
];
table('a failed request is retried where that is safe and useful', (row) => {
  for (const { name, method, failure, attempts = 1, limit, want } of cases) {
    row(name, () =>
      assert.equal(
        requestRetryDelayMs(method, failure, attempts, limit, () => 0),
        want,
      ),
    );
  }
});
