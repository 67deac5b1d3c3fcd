import assert from 'node:assert/strict';
import { toCoreEvent } from '../../../../src/main/events/event-object.ts';
import { nextEvent, type NextEvent, type QueuedEvent } from '../../../../src/main/events/next-event.ts';
import { table } from '../../../support/table.ts';

function anEvent(name: string, { tries = 0, notBeforeMs = 0, namespace = 'ns' } = {}): QueuedEvent {
  const object = { apiVersion: 'v1', kind: 'Pod', namespace, name, uid: `uid-${name}` };
  const event = toCoreEvent({ object, type: 'Normal', reason: 'R', message: '' }, { component: 'kubelet', host: 'n' }, 0, 1n);
  return { event, recordedAtMs: 0, tries, notBeforeMs };
}

table('the next event', (row) => {
  const is = (name: string, queue: readonly QueuedEvent[], expected: NextEvent, underWay: readonly QueuedEvent[] = []) =>
    row(name, () => assert.deepEqual(nextEvent(queue, 100, underWay), expected));
  const later = { tries: 1, notBeforeMs: 200 };
  is('is the oldest', [anEvent('a'), anEvent('b')], { at: 0 });
  is('is not one that waits', [anEvent('a', later), anEvent('b')], { at: 1 });
  is('is none of an object whose earlier event waits', [anEvent('a', later), anEvent('a'), anEvent('b')], { at: 2 });
  is('is one that has been tried less often', [anEvent('a', { tries: 1 }), anEvent('b')], { at: 1 });
  is('is the one whose wait is over, where there is no other', [anEvent('a', later), anEvent('b', { tries: 2 })], { at: 1 });
  is('comes when the first wait is over', [anEvent('a', later), anEvent('b', { tries: 1, notBeforeMs: 150 })], { fromMs: 150 });
  is('is none of an object that is written', [anEvent('a'), anEvent('b')], { at: 1 }, [anEvent('a')]);
  is('is none of a namespace with two writes', [anEvent('c')], { fromMs: Infinity }, [anEvent('a'), anEvent('b')]);
  is('is one of another namespace', [anEvent('c'), anEvent('d', { namespace: 'x' })], { at: 1 }, [anEvent('a'), anEvent('b')]);
});
