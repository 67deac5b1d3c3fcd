import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RequestWindow } from '../../../../../src/workers/pod-sync/pod/request-window.ts';

test('a task with thousands of requests sends each of them, and 200 of a type at a time', () => {
  const window = new RequestWindow();
  const sent: number[] = [];
  for (let index = 0; index < 3000; index += 1) window.enter('ensureImage', () => sent.push(index));
  assert.equal(sent.length, 200);
  for (let ended = 0; ended < 3000; ended += 1) {
    assert.equal(sent.length, Math.min(3000, 200 + ended));
    window.leave('ensureImage');
  }
  assert.deepEqual(sent, [...sent.keys()]);
  window.enter('ensureImage', () => sent.push(3000));
  assert.equal(sent.at(-1), 3000);
});

test('requests of one type do not wait for those of another, and a stopped task sends no more', () => {
  const window = new RequestWindow();
  const sent: string[] = [];
  for (let index = 0; index < 201; index += 1) window.enter('startPermit', () => sent.push('startPermit'));
  window.enter('podObjects', () => sent.push('podObjects'));
  assert.deepEqual([sent.length, sent.at(-1)], [201, 'podObjects']);
  window.clear();
  window.leave('startPermit');
  assert.equal(sent.length, 201);
});
