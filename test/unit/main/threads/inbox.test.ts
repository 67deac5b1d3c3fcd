import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Inbox } from '../../../../src/main/threads/inbox.ts';

test('the receiver gets the messages from before the inbox was opened, then the later ones', () => {
  const inbox = new Inbox<number>();
  const received: number[] = [];
  inbox.post(1);
  inbox.post(2);
  inbox.open((message) => received.push(message));
  inbox.post(3);
  assert.deepEqual(received, [1, 2, 3]);
});

test('an inbox has one receiver', () => {
  const inbox = new Inbox<number>();
  inbox.open(() => {});
  assert.throws(() => inbox.open(() => {}), /has a receiver already/);
});
