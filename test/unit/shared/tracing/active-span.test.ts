import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import {
  bindTracer,
  currentTraceParent,
  runInSpan,
  runWithParent,
  startCallSpan,
  startDetachedCallSpan,
} from '../../../../src/shared/tracing/active-span.ts';
import { RecordingTracer } from '../../../support/tracing/recording-tracer.ts';

/** All unit tests share one process. */
function bindRecordingTracer(t: TestContext): RecordingTracer {
  const tracer = new RecordingTracer();
  bindTracer(tracer);
  t.after(() => bindTracer(null));
  return tracer;
}
const named = (name: string) => () => ({ scope: 'test', name });
const parentsOf = (tracer: RecordingTracer) => tracer.take().map(({ options: { name, parent } }) => [name, parent]);

test('a call within a span is below it; a detached call begins a trace', async (t) => {
  const tracer = bindRecordingTracer(t);
  let parent: string | undefined;
  await runInSpan(named('sync'), async () => {
    parent = currentTraceParent();
    startCallSpan(named('call'));
    startDetachedCallSpan(named('detached'));
  });
  assert.ok(parent);
  assert.deepEqual(parentsOf(tracer), [
    ['sync', undefined],
    ['call', parent],
    ['detached', undefined],
  ]);
});

test('the work of one pod that starts within the span of another begins a trace', async (t) => {
  const tracer = bindRecordingTracer(t);
  let other = Promise.resolve();
  await runInSpan(named('first pod'), async () => {
    other = runInSpan(named('second pod'), async () => void startCallSpan(named('call of the second pod')));
  });
  await other;
  const [first, second, call] = tracer.take();
  assert.deepEqual([first!.options.parent, second!.options.parent, call!.options.parent], [undefined, undefined, second!.traceParent]);
});

test('calls are below the span of another thread that caused them', (t) => {
  const tracer = bindRecordingTracer(t);
  const parent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
  runWithParent(parent, () => startCallSpan(named('call')));
  assert.deepEqual(parentsOf(tracer), [['call', parent]]);
});

test('a rejection marks its span as failed, and ends it', async (t) => {
  const tracer = bindRecordingTracer(t);
  await assert.rejects(
    runInSpan(named('sync'), () => Promise.reject(new Error('no image'))),
    { message: 'no image' },
  );
  const [span] = tracer.take();
  assert.deepEqual([span!.failure, span!.isEnded], ['no image', true]);
});

test('without a tracer nothing is asked for', async () => {
  const never = () => assert.fail('asked');
  assert.equal(await runInSpan(never, async () => currentTraceParent()), undefined);
  assert.equal(startCallSpan(never), undefined);
  assert.equal(startDetachedCallSpan(never), undefined);
});
