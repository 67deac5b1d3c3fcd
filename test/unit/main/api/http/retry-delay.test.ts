import assert from 'node:assert/strict';
import { retryDelayMs, type AttemptFailure } from '../../../../../src/main/api/http/retry-delay.ts';
import type { ApiCall } from '../../../../../src/main/api/api-client.ts';
import { table } from '../../../../support/table.ts';

const answered = (code: number, retryAfterMs?: number): AttemptFailure => ({ kind: 'answered', code, retryAfterMs });
const cases: {
  name: string;
  method: ApiCall['method'];
  failure: AttemptFailure;
  attempts?: number;
  limit?: number;
  want: number | null;
}[] = [
  { name: 'a 429 that says when is made again then, also a create', method: 'POST', failure: answered(429, 1000), want: 1000 },
  { name: 'a 503 that says when is made again then', method: 'PATCH', failure: answered(503, 5000), want: 5000 },
  { name: 'a 429 that does not say when is the answer', method: 'GET', failure: answered(429), want: null },
  { name: 'a 500 that does not say when is the answer', method: 'GET', failure: answered(500), want: null },
  { name: 'a 409 is the answer whatever it says', method: 'PUT', failure: answered(409, 1000), want: null },
  { name: 'a wait of an hour is for the caller to decide', method: 'GET', failure: answered(429, 3_600_000), want: null },
  { name: 'the tenth retry is the last', method: 'GET', failure: answered(429, 1000), attempts: 10, want: 1000 },
  { name: 'there is no eleventh retry', method: 'GET', failure: answered(429, 1000), attempts: 11, want: null },
  { name: 'a caller that wants one attempt gets one', method: 'GET', failure: answered(429, 1000), limit: 1, want: null },
  { name: 'a GET whose connection was lost is made again', method: 'GET', failure: { kind: 'lost' }, want: 100 },
  { name: 'a PATCH whose connection was lost may have been done', method: 'PATCH', failure: { kind: 'lost' }, want: null },
  { name: 'a DELETE whose connection was lost may have been done', method: 'DELETE', failure: { kind: 'lost' }, want: null },
  { name: 'a create that was never sent is made again', method: 'POST', failure: { kind: 'not sent' }, attempts: 3, want: 400 },
  { name: 'a server that is away is not waited for', method: 'POST', failure: { kind: 'not sent' }, attempts: 4, want: null },
  { name: 'a deadline that passed is the end', method: 'GET', failure: { kind: 'final' }, want: null },
];
table('a request that failed is made again when that can help', (row) => {
  for (const { name, method, failure, attempts = 1, limit, want } of cases) {
    row(name, () =>
      assert.equal(
        retryDelayMs(method, failure, attempts, limit, () => 0),
        want,
      ),
    );
  }
});
