import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { systemClock } from '../../../../src/shared/time/clock.ts';

/** A timer of Node holds 32 bits of milliseconds: one that is longer would ring at once. */
const monthMs = 30 * 24 * 3600 * 1000;

/** Lets time go by: for Node's timers, and for the clock, by so much less. */
function fakeTime(t: TestContext): (ms: number, clockLagMs?: number) => void {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let nowMs = 0;
  t.mock.method(process, 'hrtime', () => [Math.floor(nowMs / 1000), (nowMs % 1000) * 1e6]);
  return (ms, clockLagMs = 0) => {
    nowMs += ms - clockLagMs;
    t.mock.timers.tick(ms);
  };
}

test('an alarm in a month rings in a month, and not before', (t) => {
  const pass = fakeTime(t);
  let rung = 0;
  systemClock.after(monthMs, () => (rung += 1));
  pass(2 ** 31 - 1);
  assert.equal(rung, 0);
  pass(monthMs - 2 ** 31 + 1);
  assert.equal(rung, 1);
});

test('an alarm that Node rings a part of a millisecond too soon rings when its time has come', (t) => {
  const pass = fakeTime(t);
  const rungAtMs: number[] = [];
  systemClock.after(200, () => rungAtMs.push(systemClock.monotonic()));
  pass(200, 0.75);
  assert.deepEqual(rungAtMs, []);
  pass(1);
  assert.deepEqual(rungAtMs, [200.25]);
});

test('an alarm that was called off does not ring, however far off it was', (t) => {
  const pass = fakeTime(t);
  let rung = 0;
  const callOff = systemClock.after(monthMs, () => (rung += 1));
  pass(2 ** 31);
  callOff();
  pass(monthMs);
  assert.equal(rung, 0);
});

test('a sleep of a month is woken by its signal, with the reason of that', async (t) => {
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
