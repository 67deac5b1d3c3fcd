import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../../../../src/shared/time/clock.ts';

/** A timer of Node holds 32 bits of milliseconds: one that is longer would ring at once. */
const monthMs = 30 * 24 * 3600 * 1000;

test('an alarm in a month rings in a month, and not before', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let rung = 0;
  systemClock.after(monthMs, () => (rung += 1));
  t.mock.timers.tick(2 ** 31 - 1);
  assert.equal(rung, 0);
  t.mock.timers.tick(monthMs - 2 ** 31 + 1);
  assert.equal(rung, 1);
});

test('an alarm that was called off does not ring, however far off it was', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let rung = 0;
  const callOff = systemClock.after(monthMs, () => (rung += 1));
  t.mock.timers.tick(2 ** 31);
  callOff();
  t.mock.timers.tick(monthMs);
  assert.equal(rung, 0);
});

test('a sleep of a month is woken by its signal, with the reason of that', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const stop = new AbortController();
  const asleep = systemClock.sleep(monthMs, stop.signal);
  const woken = assert.rejects(asleep, /the pod is deleted/);
  t.mock.timers.tick(1000);
  stop.abort(new Error('the pod is deleted'));
  await woken;
  await assert.rejects(systemClock.sleep(1, stop.signal), /the pod is deleted/);
  const rested = systemClock.sleep(5);
  t.mock.timers.tick(5);
  await rested;
});
