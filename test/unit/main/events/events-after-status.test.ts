/** No warning about a pod is recorded before the status that it belongs to, and no warning waits forever. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EventsAfterStatus, maxSyncWaitMs, maxStatusWriteWaitMs } from '../../../../src/main/events/events-after-status.ts';
import { podReference } from '../../../../src/main/events/index.ts';
import type { RecordedEvent } from '../../../../src/shared/contracts/event.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';
import { aPod } from '../../../support/pods/pods.ts';

function aSink({ syncs = false, unwritten = false } = {}) {
  const clock = new FakeClock();
  const recorded: RecordedEvent[] = [];
  const expedited: string[] = [];
  const sync = Promise.withResolvers<void>();
  const write = Promise.withResolvers<void>();
  const events = new EventsAfterStatus({
    next: { record: (event) => void recorded.push(event) },
    statuses: {
      expedite: (uid) => void expedited.push(uid),
      whenWritten: () => (unwritten ? write.promise : undefined),
    },
    syncInProgress: () => (syncs ? sync.promise : undefined),
    clock,
  });
  const record = async (type: RecordedEvent['type'] = 'Warning', object: RecordedEvent['object'] = podReference(aPod())) => {
    events.record({ object, type, reason: 'FailedMount', message: 'x' });
    await settle();
  };
  return { clock, recorded, expedited, events, record, endSync: () => sync.resolve(), endWrite: () => write.resolve() };
}

test('a warning waits for the end of its sync and then for the expedited status', async () => {
  const { clock, recorded, expedited, record, endSync, endWrite } = aSink({ syncs: true, unwritten: true });
  const recordedAtMs = clock.now();
  await record();
  await clock.advance(maxSyncWaitMs - 1);
  assert.deepEqual([recorded.length, expedited], [0, []]);
  endSync();
  await settle();
  assert.deepEqual([recorded.length, expedited], [0, ['uid-web']]);
  endWrite();
  await settle();
  assert.deepEqual(
    recorded.map(({ atMs }) => atMs),
    [recordedAtMs],
  );
});

test('a warning in a long sync expedites the status after two seconds', async () => {
  const { clock, recorded, expedited, record } = aSink({ syncs: true });
  await record();
  await clock.advance(maxSyncWaitMs);
  assert.deepEqual([recorded.length, expedited], [1, ['uid-web']]);
});

test('a warning whose status cannot be written is recorded after ten seconds', async () => {
  const { clock, recorded, record } = aSink({ unwritten: true });
  await record();
  await clock.advance(maxStatusWriteWaitMs - 1);
  assert.equal(recorded.length, 0);
  await clock.advance(1);
  assert.equal(recorded.length, 1);
});

test('a failed sync does not delay a warning', async () => {
  const failed = Promise.reject(new Error('x'));
  failed.catch(() => {});
  const recorded: RecordedEvent[] = [];
  const statuses = { expedite: () => {}, whenWritten: () => undefined };
  const events = new EventsAfterStatus({
    next: { record: (event) => void recorded.push(event) },
    statuses,
    syncInProgress: () => failed,
    clock: new FakeClock(),
  });
  events.record({ object: podReference(aPod()), type: 'Warning', reason: 'FailedMount', message: 'x' });
  await settle();
  assert.equal(recorded.length, 1);
});

test('normal events and events about nodes are recorded at once', async () => {
  const { recorded, expedited, record } = aSink({ syncs: true, unwritten: true });
  await record('Normal');
  await record('Warning', { kind: 'Node', namespace: '', name: 'n1', uid: 'n1' });
  assert.deepEqual([recorded.length, expedited], [2, []]);
});

test('closing records the waiting warnings', async () => {
  const { recorded, events, record } = aSink({ syncs: true, unwritten: true });
  await record();
  await events.close();
  assert.equal(recorded.length, 1);
  await record();
  assert.equal(recorded.length, 2);
});

test('at most a thousand warnings wait', async () => {
  const { recorded, record } = aSink({ unwritten: true });
  for (let index = 0; index < 1000; index += 1) void record();
  await record();
  assert.equal(recorded.length, 1);
});
