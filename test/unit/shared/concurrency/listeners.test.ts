import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Listeners } from '../../../../src/shared/concurrency/listeners.ts';

test('calls the listeners in their order, until each is removed', () => {
  const calls: string[] = [];
  const listeners = new Listeners<[number]>();
  const remove = listeners.add((value) => calls.push(`first ${value}`));
  listeners.add((value) => calls.push(`second ${value}`));
  listeners.notify(1);
  remove();
  listeners.notify(2);
  listeners.clear();
  listeners.notify(3);
  assert.deepEqual(calls, ['first 1', 'second 1', 'second 2']);
  assert.equal(listeners.size, 0);
});

test('a listener that removes itself keeps no other from the notification', () => {
  const calls: string[] = [];
  const listeners = new Listeners();
  const remove = listeners.add(() => {
    calls.push('once');
    remove();
  });
  listeners.add(() => calls.push('always'));
  listeners.notify();
  listeners.notify();
  assert.deepEqual(calls, ['once', 'always', 'always']);
});

test('the wait for the next notification ends with it, or with the signal, and leaves no listener', async () => {
  const listeners = new Listeners();
  const stop = new AbortController();
  const notified = listeners.next(stop.signal);
  listeners.notify();
  await notified;
  const aborted = listeners.next(stop.signal);
  stop.abort();
  await aborted;
  await listeners.next(stop.signal);
  assert.equal(listeners.size, 0);
});
