/** No warning about a pod goes out before the status that it belongs to, and none waits for ever. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EventsAfterStatus, maxSyncWaitMs, maxStatusWriteWaitMs } from '../../../../src/main/events/events-after-status.ts';
import { podReference } from '../../../../src/main/events/event-sink.ts';
import type { RecordedEvent } from '../../../../src/shared/contracts/event.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';
import { aPod } from '../../../support/pods.ts';

function aSink({ syncs = false, unwritten = false } = {}) {
  const clock = new FakeClock();
  const passed: RecordedEvent[] = [];
  const hurried: string[] = [];
  const sync = Promise.withResolvers<void>();
  const write = Promise.withResolvers<void>();
  const events = new EventsAfterStatus({
    next: { record: (event) => void passed.push(event) },
    statuses: {
      expedite: (uid) => void hurried.push(uid),
      whenWritten: () => (unwritten ? write.promise : undefined),
    },
    syncUnderWay: () => (syncs ? sync.promise : undefined),
    clock,
  });
  const record = async (type: RecordedEvent['type'] = 'Warning', object: RecordedEvent['object'] = podReference(aPod())) => {
    events.record({ object, type, reason: 'FailedMount', message: 'x' });
    await settle();
  };
  return { clock, passed, hurried, events, record, endSync: () => sync.resolve(), endWrite: () => write.resolve() };
}

test('a warning waits for the end of its sync and then for the status, which waits for nothing more', async () => {
  const { clock, passed, hurried, record, endSync, endWrite } = aSink({ syncs: true, unwritten: true });
  const recordedAtMs = clock.now();
  await record();
  await clock.advance(maxSyncWaitMs - 1);
  assert.deepEqual([passed.length, hurried], [0, []]);
  endSync();
  await settle();
  assert.deepEqual([passed.length, hurried], [0, ['uid-web']]);
  endWrite();
  await settle();
  assert.deepEqual(
    passed.map(({ atMs }) => atMs),
    [recordedAtMs],
  );
});

test('a warning in a long sync hurries the status after two seconds', async () => {
  const { clock, passed, hurried, record } = aSink({ syncs: true });
  await record();
  await clock.advance(maxSyncWaitMs);
  assert.deepEqual([passed.length, hurried], [1, ['uid-web']]);
});

test('a warning whose status cannot be written goes without it after ten seconds', async () => {
  const { clock, passed, record } = aSink({ unwritten: true });
  await record();
  await clock.advance(maxStatusWriteWaitMs - 1);
  assert.equal(passed.length, 0);
  await clock.advance(1);
  assert.equal(passed.length, 1);
});

test('a sync that fails holds up no warning', async () => {
  const failed = Promise.reject(new Error('x'));
  failed.catch(() => {});
  const passed: RecordedEvent[] = [];
  const statuses = { expedite: () => {}, whenWritten: () => undefined };
  const events = new EventsAfterStatus({
    next: { record: (event) => void passed.push(event) },
    statuses,
    syncUnderWay: () => failed,
    clock: new FakeClock(),
  });
  events.record({ object: podReference(aPod()), type: 'Warning', reason: 'FailedMount', message: 'x' });
  await settle();
  assert.equal(passed.length, 1);
});

test('normal events, and those about nodes, pass at once', async () => {
  const { passed, hurried, record } = aSink({ syncs: true, unwritten: true });
  await record('Normal');
  await record('Warning', { kind: 'Node', namespace: '', name: 'n1', uid: 'n1' });
  assert.deepEqual([passed.length, hurried], [2, []]);
});

test('a kubelet that stops passes on what waits', async () => {
  const { passed, events, record } = aSink({ syncs: true, unwritten: true });
  await record();
  await events.close();
  assert.equal(passed.length, 1);
  await record();
  assert.equal(passed.length, 2);
});

test('no more than a thousand warnings wait', async () => {
  const { passed, record } = aSink({ unwritten: true });
  for (let index = 0; index < 1000; index += 1) void record();
  await record();
  assert.equal(passed.length, 1);
});
