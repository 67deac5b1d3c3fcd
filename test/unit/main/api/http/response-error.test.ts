import assert from 'node:assert/strict';
import { test } from 'node:test';
import { responseError } from '../../../../../src/main/api/http/response-error.ts';
import { table } from '../../../../support/table.ts';

const status = (fields: object) => JSON.stringify({ kind: 'Status', apiVersion: 'v1', status: 'Failure', ...fields });
const cases: { name: string; method?: 'GET' | 'POST'; code: number; body: string; header?: string; want: object }[] = [
  {
    name: 'a Status sets reason and message',
    code: 409,
    body: status({ reason: 'Conflict', message: 'the object has been modified', details: { retryAfterSeconds: 2 } }),
    want: { code: 409, reason: 'Conflict', message: 'the object has been modified', retryAfterMs: 2000 },
  },
  {
    name: 'a Status without a reason gets the reason of its code',
    code: 403,
    body: status({ message: 'no' }),
    want: { reason: 'Forbidden', message: 'no' },
  },
  {
    name: 'the page of a proxy is quoted on one line',
    code: 503,
    body: '<html>\n <p>down\u001b[31m',
    want: { reason: 'ServiceUnavailable', message: 'the server answered 503 (ServiceUnavailable) to GET /p: <html> <p>down [31m' },
  },
  {
    name: 'an empty response gets the reason of its code',
    code: 401,
    body: '',
    want: { reason: 'Unauthorized', message: 'the server answered 401 (Unauthorized) to GET /p' },
  },
  { name: 'a 409 without a body means AlreadyExists for a create', method: 'POST', code: 409, body: '', want: { reason: 'AlreadyExists' } },
  { name: 'a 409 without a body means Conflict for other methods', code: 409, body: '', want: { reason: 'Conflict' } },
  { name: 'an unknown code is InternalError', code: 599, body: '[]', want: { reason: 'InternalError' } },
  { name: 'Retry-After is read from the header', code: 429, body: '', header: '7', want: { retryAfterMs: 7000 } },
  {
    name: 'a Retry-After of an hour in the header is capped',
    code: 503,
    body: '<html>',
    header: '3600',
    want: { retryAfterMs: 120_000 },
  },
  {
    name: 'a retryAfterSeconds of a year is capped',
    code: 429,
    body: status({ details: { retryAfterSeconds: 31_536_000 } }),
    want: { retryAfterMs: 120_000 },
  },
  {
    name: 'a Retry-After with a date is ignored',
    code: 429,
    body: '',
    header: 'Wed, 21 Oct 2026 07:28:00 GMT',
    want: { retryAfterMs: undefined },
  },
  {
    name: 'fields of a Status with wrong types are ignored',
    code: 404,
    body: status({ reason: 3, message: {}, details: [] }),
    want: { reason: 'NotFound' },
  },
];
table('an error response has a reason and a message', (row) => {
  for (const { name, method = 'GET', code, body, header, want } of cases) {
    row(name, () => {
      const error = responseError({ method, path: '/p' }, code, Buffer.from(body), header);
      const got = Object.fromEntries(Object.keys(want).map((key) => [key, error[key as keyof typeof error]]));
      assert.deepEqual(got, want);
    });
  }
});

test('a page of a megabyte is truncated in the message', () => {
  assert.ok(responseError({ method: 'GET', path: '/p' }, 502, Buffer.alloc(1 << 20, 'x'), undefined).message.length < 400);
});
