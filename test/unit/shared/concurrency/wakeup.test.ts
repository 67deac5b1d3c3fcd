import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withDeadline } from '../../../../src/main/sources/deadline.ts';
import { Wakeup } from '../../../../src/shared/concurrency/wakeup.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';

/** Waits with a wakeup, and returns how long the wait took. */
function aWait(ms: number) {
  const clock = new FakeClock();
  const wakeup = new Wakeup(clock);
  const stop = new AbortController();
  const ended: number[] = [];
  const start = () => void wakeup.next(ms, stop.signal).then(() => ended.push(clock.monotonic()));
  return { clock, wakeup, stop, ended, start };
}

test('a wait ends after its time', async () => {
  const { clock, ended, start } = aWait(1000);
  start();
  await clock.advance(5000);
  assert.deepEqual(ended, [1000]);
});

test('a wait ends shortly after a wakeup', async () => {
  const { clock, wakeup, ended, start } = aWait(1000);
  start();
  await clock.advance(100);
  wakeup.wake();
  await clock.advance(500);
  assert.deepEqual(ended, [104]);
});

test('a wakeup before the wait ends it too, once', async () => {
  const { clock, wakeup, ended, start } = aWait(1000);
  wakeup.wake();
  start();
  await clock.advance(500);
  assert.deepEqual(ended, [4]);
  start();
  await clock.advance(5000);
  assert.deepEqual(ended, [4, 1500]);
});

test('a burst is one wakeup, and an endless burst is limited', async () => {
  const { clock, wakeup, ended, start } = aWait(1000);
  start();
  for (let at = 0; at < 240; at += 3) {
    wakeup.wake();
    await clock.advance(3);
  }
  assert.equal(ended.length, 1);
  assert.ok((ended[0] ?? 0) <= 204, `${ended[0]}`);
});

test('a wait ends immediately when its signal aborts', async () => {
  const { stop, ended, start } = aWait(1000);
  start();
  stop.abort();
  await settle();
  assert.deepEqual(ended, [0]);
});

test('what does not end in time is late; what does, is not', async () => {
  const clock = new FakeClock();
  const { signal } = new AbortController();
  const late = new Error('late');
  const waiting = assert.rejects(withDeadline(new Promise(() => {}), 100, late, clock, signal), late);
  await clock.advance(100);
  await waiting;
  assert.equal(await withDeadline(Promise.resolve('done'), 100, late, clock, signal), 'done');
});

test('nothing is waited for once the source is closed', async () => {
  const stop = new AbortController();
  const waiting = withDeadline(new Promise(() => {}), 100, new Error('late'), new FakeClock(), stop.signal);
  stop.abort(new Error('closed'));
  await assert.rejects(waiting, /closed/);
});
