import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { systemClock } from '../../../../src/shared/time/clock.ts';

/** A Node timer has 31 bits of milliseconds. A longer delay would fire immediately. */
const monthMs = 30 * 24 * 3600 * 1000;

/** Advances Node's timers, and the monotonic clock by less. */
function fakeTime(t: TestContext): (ms: number, clockLagMs?: number) => void {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let nowMs = 0;
  t.mock.method(process, 'hrtime', () => [Math.floor(nowMs / 1000), (nowMs % 1000) * 1e6]);
  return (ms, clockLagMs = 0) => {
    nowMs += ms - clockLagMs;
    t.mock.timers.tick(ms);
  };
}

test('a timer of a month fires after a month, and not before', (t) => {
  const pass = fakeTime(t);
  let rung = 0;
  systemClock.after(monthMs, () => (rung += 1));
  pass(2 ** 31 - 1);
  assert.equal(rung, 0);
  pass(monthMs - 2 ** 31 + 1);
  assert.equal(rung, 1);
});

test('a timer that Node fires early by a part of a millisecond fires when it is due', (t) => {
  const pass = fakeTime(t);
  const rungAtMs: number[] = [];
  systemClock.after(200, () => rungAtMs.push(systemClock.monotonic()));
  pass(200, 0.75);
  assert.deepEqual(rungAtMs, []);
  pass(1);
  assert.deepEqual(rungAtMs, [200.25]);
});

test('a cancelled timer does not fire, however long it was', (t) => {
  const pass = fakeTime(t);
  let rung = 0;
  const callOff = systemClock.after(monthMs, () => (rung += 1));
  pass(2 ** 31);
  callOff();
  pass(monthMs);
  assert.equal(rung, 0);
});

test('a sleep of a month rejects when its signal aborts, with the signal’s reason', async (t) => {
  const pass = fakeTime(t);
  const stop = new AbortController();
  const asleep = systemClock.sleep(monthMs, stop.signal);
  const woken = assert.rejects(asleep, /the pod is deleted/);
  pass(1000);
  stop.abort(new Error('the pod is deleted'));
  await woken;
  await assert.rejects(systemClock.sleep(1, stop.signal), /the pod is deleted/);
  const rested = systemClock.sleep(5);
  pass(5);
  await rested;
});
