import assert from 'node:assert/strict';
import { toCoreEvent } from '../../../../src/main/events/event-object.ts';
import { selectNextEvent, type NextEvent, type QueuedEvent } from '../../../../src/main/events/next-event.ts';
import { table } from '../../../support/table.ts';

function anEvent(name: string, { tries = 0, notBeforeMs = 0, namespace = 'ns' } = {}): QueuedEvent {
  const object = { apiVersion: 'v1', kind: 'Pod', namespace, name, uid: `uid-${name}` };
  const event = toCoreEvent({ object, type: 'Normal', reason: 'R', message: '' }, { component: 'kubelet', host: 'n' }, 0, 1n);
  return { event, recordedAtMs: 0, tries, notBeforeMs };
}

table('selecting the next event', (row) => {
  const selects = (name: string, queue: readonly QueuedEvent[], expected: NextEvent, inFlight: readonly QueuedEvent[] = []) =>
    row(name, () => assert.deepEqual(selectNextEvent(queue, 100, inFlight), expected));
  const later = { tries: 1, notBeforeMs: 200 };
  selects('selects the oldest event', [anEvent('a'), anEvent('b')], { index: 0 });
  selects('skips an event that waits for a retry', [anEvent('a', later), anEvent('b')], { index: 1 });
  selects('skips an object whose earlier event waits for a retry', [anEvent('a', later), anEvent('a'), anEvent('b')], { index: 2 });
  selects('prefers the event with fewer tries', [anEvent('a', { tries: 1 }), anEvent('b')], { index: 1 });
  selects('selects a retry that is due when there is no other event', [anEvent('a', later), anEvent('b', { tries: 2 })], { index: 1 });
  selects('returns the time of the first retry when all wait', [anEvent('a', later), anEvent('b', { tries: 1, notBeforeMs: 150 })], {
    fromMs: 150,
  });
  selects('skips an object with a write in flight', [anEvent('a'), anEvent('b')], { index: 1 }, [anEvent('a')]);
  selects('skips a namespace with two writes in flight', [anEvent('c')], { fromMs: Infinity }, [anEvent('a'), anEvent('b')]);
  selects('selects an event of another namespace', [anEvent('c'), anEvent('d', { namespace: 'x' })], { index: 1 }, [
    anEvent('a'),
    anEvent('b'),
  ]);
});
