import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EventRecorder, podReference } from '../../../../src/main/events/index.ts';
import type { CoreEvent } from '../../../../src/main/events/event-object.ts';
import { StartAdmission } from '../../../../src/main/pods/dispatch/start-admission.ts';
import type { RecordedEvent } from '../../../../src/shared/contracts/event.ts';
import { apiError, FakeApi } from '../../../support/api-server/fake-api.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';
import { aLogger } from '../../../support/logger.ts';
import { aPod } from '../../../support/pods/pods.ts';

const path = '/api/v1/namespaces/default/events';

function aRecorder(api = new FakeApi().on('POST', path, {}), untilIdle?: (signal: AbortSignal) => Promise<void>) {
  const clock = new FakeClock();
  const { logger, lines } = aLogger();
  const logged: RecordedEvent[] = [];
  const recorder = new EventRecorder({
    client: api,
    nodeName: 'n1',
    log: { record: (event) => void logged.push(event) },
    clock,
    logger,
    random: () => 0.5,
    ...(untilIdle && { untilIdle }),
  });
  const record = (name: string, message = 'again', type: RecordedEvent['type'] = 'Warning') =>
    recorder.record({
      object: podReference(aPod({ metadata: { name, uid: `uid-${name}` } })),
      type,
      reason: 'BackOff',
      message,
    });
  const posted = () => api.callsTo('POST', path).map(({ body }) => body as CoreEvent);
  return { api, clock, lines, logged, recorder, record, posted };
}

test('an event is logged and sent to the API server under a unique name', async () => {
  const { api, logged, record, posted } = aRecorder();
  record('web');
  record('web', 'other');
  await settle();
  assert.equal(logged.length, 2);
  const [first, second] = posted();
  assert.equal(first?.involvedObject.name, 'web');
  assert.notEqual(first?.metadata.name, second?.metadata.name);
  assert.equal(api.calls[0]?.trafficClass, 'events');
});

test('a repeated event patches the first', async () => {
  const { api, record, posted } = aRecorder(new FakeApi().on('POST', path, {}).on('PATCH', /events/, {}));
  record('web');
  record('web');
  await settle();
  const [patch] = api.callsTo('PATCH', /events/);
  assert.equal(patch?.path, `${path}/${posted()[0]?.metadata.name}`);
  assert.equal(patch?.patch, 'strategic');
  assert.deepEqual(patch?.body, { count: 2, lastTimestamp: '2026-01-01T00:00:00Z', message: 'again' });
});

test('an event that the server has deleted is created again with its count', async () => {
  const { record, posted } = aRecorder(new FakeApi().on('POST', path, {}).on('PATCH', /events/, apiError(404, 'NotFound')));
  record('web');
  record('web');
  await settle();
  assert.deepEqual(
    posted().map(({ count, metadata }) => [count, metadata.name]),
    [
      [1, posted()[0]?.metadata.name],
      [2, posted()[0]?.metadata.name],
    ],
  );
});

const names = (events: readonly CoreEvent[]) => events.map(({ involvedObject }) => involvedObject.name);

test('a retried event delays only events of the same object', async () => {
  const { api, clock, record, posted } = aRecorder();
  api.once('POST', path, apiError(503, 'ServiceUnavailable'));
  record('a', 'first');
  record('a', 'second');
  record('b');
  await settle();
  assert.deepEqual(names(posted()), ['a', 'b']);
  record('c');
  await settle();
  assert.deepEqual(names(posted()), ['a', 'b', 'c']);
  await clock.advance(5_000);
  assert.deepEqual(
    posted()
      .slice(3)
      .map(({ message }) => message),
    ['first', 'second'],
  );
});

test('an event without a response delays only events of the same object', async () => {
  const { api, clock, record, posted } = aRecorder();
  const response = api.deferResponse('POST', path);
  record('a', 'first');
  record('a', 'second');
  record('b');
  await clock.advance(1_000);
  assert.deepEqual(names(posted()), ['a', 'b']);
  response.resolve({});
  await settle();
  assert.deepEqual(names(posted()), ['a', 'b', 'a']);
});

test('an unavailable server gets one event at a time, and all queued events when it is back', async () => {
  const { api, clock, record, posted } = aRecorder(new FakeApi().on('POST', path, apiError(0, 'Unreachable')));
  for (const name of ['a', 'b', 'c', 'd', 'e']) record(name);
  await settle();
  assert.deepEqual(names(posted()), ['a', 'b', 'c']);
  await clock.advance(5_000);
  assert.deepEqual(names(posted()), ['a', 'b', 'c', 'd']);
  api.on('POST', path, {});
  await clock.advance(10_000);
  assert.deepEqual(new Set(names(posted()).slice(4)), new Set(['a', 'b', 'c', 'd', 'e']));
});

test('an event with an invalid path is not retried', async () => {
  const { clock, lines, recorder, posted, record } = aRecorder();
  recorder.record({
    object: { kind: 'Pod', namespace: 'a/b', name: 'x', uid: 'u', apiVersion: 'v1' },
    type: 'Warning',
    reason: 'R',
    message: '',
  });
  record('next');
  await clock.advance(100_000);
  assert.deepEqual(names(posted()), ['next']);
  assert.equal(lines.filter(({ msg }) => msg === 'Server rejected event (will not retry!)').length, 1);
});

test('an event is dropped after twelve tries', async () => {
  const { api, clock, lines, record, posted } = aRecorder(new FakeApi().on('POST', path, apiError(503, 'ServiceUnavailable')));
  record('a');
  await clock.advance(600_000);
  assert.equal(posted().length, 12);
  assert.ok(lines.some(({ msg }) => msg === 'Unable to write event (retry limit exceeded!)'));
  api.on('POST', path, {});
  record('b');
  await settle();
  assert.equal(posted().length, 13);
});

test('a rejected event is not retried, and a rejecting namespace is logged once', async () => {
  const { lines, record, posted } = aRecorder(new FakeApi().on('POST', path, apiError(403, 'Forbidden', 'namespace is being terminated')));
  record('a');
  record('b');
  await settle();
  assert.equal(posted().length, 2);
  assert.deepEqual(
    lines.filter(({ msg }) => msg === 'Server rejected event (will not retry!)').map(({ level }) => level),
    [40, 20],
  );
});

test('events beyond a thousand queued ones are dropped and counted', async () => {
  const api = new FakeApi();
  const response = api.deferResponse('POST', path);
  api.on('POST', path, {});
  const { lines, record, posted } = aRecorder(api);
  for (let index = 0; index < 1_100; index += 1) record(`pod-${index}`);
  response.resolve({});
  for (let round = 0; round < 20; round += 1) await settle();
  assert.equal(posted().length, 1_001);
  assert.equal(lines.filter(({ msg }) => msg === 'Too many queued events, dropping new ones').length, 1);
  assert.equal(lines.find(({ msg }) => msg === 'Events were dropped, too many were queued')?.['dropped'], 99);
});

test('a burst that is dropped entirely does not stop later events', async () => {
  const { record, posted } = aRecorder(new FakeApi().on('POST', path, {}).on('PATCH', /events/, {}));
  for (let time = 0; time < 30; time += 1) record('noisy');
  await settle();
  record('noisy');
  record('quiet');
  await settle();
  assert.deepEqual(
    posted().map(({ involvedObject }) => involvedObject.name),
    ['noisy', 'quiet'],
  );
});

test('on close each queued event is tried once, for at most a second', async () => {
  const { api, recorder, record, posted } = aRecorder();
  api.once('POST', path, apiError(0, 'Unreachable'));
  record('a');
  record('b');
  await settle();
  await recorder.close();
  assert.deepEqual(names(posted()), ['a', 'b', 'a']);
  const hanging = aRecorder();
  hanging.api.deferResponse('POST', path);
  hanging.record('c');
  const closed = hanging.recorder.close();
  await hanging.clock.advance(1_000);
  await closed;
});

test('normal events wait for an idle node, for at most ten seconds, and a warning ends the wait', async () => {
  const admission = new StartAdmission({ clock: new FakeClock(), cores: 2 });
  const { clock, record, posted, recorder } = aRecorder(undefined, (signal) => admission.untilIdle(signal));
  const postedNames = () => posted().map(({ involvedObject }) => involvedObject.name);
  const { signal } = new AbortController();
  const aStart = () =>
    admission.acquire({ kind: 'container', restart: false, critical: false, large: false, priority: 0, podSeenAtMs: 0 }, signal);
  const starts = [await aStart(), await aStart()];
  record('a', '', 'Normal');
  await clock.advance(9_999);
  record('b', '', 'Normal');
  assert.deepEqual(postedNames(), []);
  await clock.advance(1);
  assert.deepEqual(postedNames(), ['a']);
  record('c', '', 'Warning');
  record('d', '', 'Normal');
  await settle();
  assert.deepEqual(postedNames(), ['a', 'b', 'c']);
  starts[0]?.release(true);
  await settle();
  assert.deepEqual(postedNames(), ['a', 'b', 'c']);
  starts[1]?.release(true);
  await settle();
  assert.deepEqual(postedNames(), ['a', 'b', 'c', 'd']);
  await aStart();
  record('e', '', 'Normal');
  await settle();
  assert.equal(postedNames().length, 4);
  await recorder.close();
  assert.equal(postedNames().at(-1), 'e');
});
