import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Inbox } from '../../../../src/main/threads/inbox.ts';

test('the receiver gets the messages from before it was set, then the later ones', () => {
  const inbox = new Inbox<number>();
  const received: number[] = [];
  inbox.post(1);
  inbox.post(2);
  inbox.setReceiver((message) => received.push(message));
  inbox.post(3);
  assert.deepEqual(received, [1, 2, 3]);
});

test('an inbox has one receiver', () => {
  const inbox = new Inbox<number>();
  inbox.setReceiver(() => {});
  assert.throws(() => inbox.setReceiver(() => {}), /has a receiver already/);
});
