import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { ApiError } from '../../../../../src/main/api/api-client.ts';
import { AttemptSpan, errorTypeOf } from '../../../../../src/main/api/http/attempt-span.ts';
import { NoResponseError } from '../../../../../src/main/api/http/request-attempt.ts';
import { bindTracer, runInSpan } from '../../../../../src/shared/tracing/active-span.ts';
import { RecordingTracer } from '../../../../support/tracing/recording-tracer.ts';
import { table } from '../../../../support/table.ts';

const noResponse = (reason: 'Timeout' | 'Unreachable', cause?: Error) =>
  new NoResponseError({ kind: 'final' }, new ApiError(0, reason, 'no answer', cause && { cause }));
const errors: { name: string; err: Error; want: string }[] = [
  {
    name: 'the code of a refused connection',
    err: noResponse('Unreachable', Object.assign(new Error('x'), { code: 'ECONNREFUSED' })),
    want: 'ECONNREFUSED',
  },
  { name: 'the reason of a deadline', err: noResponse('Timeout'), want: 'Timeout' },
  { name: 'the name of an abort, whose code is a number', err: new DOMException('x', 'AbortError'), want: 'AbortError' },
];
table('the error type of an attempt is', (row) => {
  for (const { name, err, want } of errors) row(name, () => assert.equal(errorTypeOf(err), want));
});

const pods = new URL('https://10.0.0.1:6443/api/v1/pods?watch=true');

test('without tracing an attempt has no header', () => {
  assert.deepEqual(AttemptSpan.start('GET', pods).headers, []);
});

/** All unit tests share one process. */
function bindRecordingTracer(t: TestContext): RecordingTracer {
  const tracer = new RecordingTracer();
  bindTracer(tracer);
  t.after(() => bindTracer(null));
  return tracer;
}

test('the span of an attempt has the request, and begins a trace, also within a span', async (t) => {
  const tracer = bindRecordingTracer(t);
  const span = await runInSpan(
    () => ({ scope: 'test', name: 'syncPod' }),
    async () => AttemptSpan.start('GET', pods),
  );
  span.answered(200);
  span.end();
  const [, attempt] = tracer.take();
  assert.deepEqual(span.headers, ['traceparent', attempt!.traceParent]);
  assert.equal(attempt!.options.parent, undefined);
  assert.deepEqual([attempt!.options.name, attempt!.options.kind], ['HTTP GET', 'client']);
  assert.deepEqual(attempt!.attributes, {
    'http.request.method': 'GET',
    'url.full': 'https://10.0.0.1:6443/api/v1/pods?watch=true',
    'server.address': '10.0.0.1',
    'server.port': 6443,
    'http.response.status_code': 200,
  });
  assert.deepEqual([attempt!.failure, attempt!.isEnded], [null, true]);
});

test('the span of an attempt is failed by an error response', (t) => {
  const tracer = bindRecordingTracer(t);
  AttemptSpan.start('PATCH', new URL('https://api.example')).answered(409);
  const [attempt] = tracer.take();
  assert.equal(attempt!.failure, '');
  assert.deepEqual([attempt!.attributes['error.type'], attempt!.attributes['server.port']], ['409', undefined]);
});

test('the span of an attempt is failed by a lost connection', (t) => {
  const tracer = bindRecordingTracer(t);
  AttemptSpan.start('POST', pods).failed(noResponse('Unreachable', Object.assign(new Error('x'), { code: 'ECONNRESET' })));
  const [attempt] = tracer.take();
  assert.deepEqual([attempt!.attributes['error.type'], attempt!.failure], ['ECONNRESET', 'no answer']);
});
