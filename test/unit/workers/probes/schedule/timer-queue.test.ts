import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TimerQueue, type TimerEntry } from '../../../../../src/workers/probes/schedule/timer-queue.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';
import { aLogger } from '../../../../support/logger.ts';

function aQueue() {
  const clock = new FakeClock();
  const { logger, lines } = aLogger();
  const lateMs: number[] = [];
  return { clock, lines, lateMs, timers: new TimerQueue({ clock, logger, onFired: (ms) => lateMs.push(ms) }) };
}

test('callbacks run in the order of their due times', async () => {
  const { clock, timers } = aQueue();
  const ran: number[] = [];
  for (const dueMs of [50, 10, 40, 20, 30, 20]) timers.at(dueMs, () => ran.push(dueMs));
  await clock.advance(35);
  assert.deepEqual(ran, [10, 20, 20, 30]);
  await clock.advance(15);
  assert.deepEqual(ran, [10, 20, 20, 30, 40, 50]);
  assert.equal(timers.size, 0);
});

test('cancelled entries do not run; each order of cancellations leaves the others in order', async () => {
  const { clock, timers } = aQueue();
  let seed = 7;
  const random = (below: number) => (seed = (seed * 16_807) % 2_147_483_647) % below;
  const ran: number[] = [];
  let entries: TimerEntry[] = [];
  for (let i = 0; i < 500; i += 1) {
    const dueMs = random(1000);
    entries.push(timers.at(dueMs, () => ran.push(dueMs)));
    if (random(3) === 0) {
      const [cancelled] = entries.splice(random(entries.length), 1);
      timers.cancel(cancelled);
      timers.cancel(cancelled);
    }
  }
  entries = entries.toSorted((a, b) => a.dueMs - b.dueMs);
  await clock.advance(1000);
  // More callbacks than a slice has: the rest runs in later iterations.
  while (timers.size > 0) await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(
    ran,
    entries.map(({ dueMs }) => dueMs),
  );
});

test('a callback that throws costs itself only', async () => {
  const { clock, lines, timers } = aQueue();
  let ran = false;
  timers.at(1, () => {
    throw new Error('broken');
  });
  timers.at(1, () => (ran = true));
  await clock.advance(1);
  assert.equal(ran, true);
  assert.equal(lines.length, 1);
});

test('a callback may set an entry that is due', async () => {
  const { clock, timers } = aQueue();
  const ran: string[] = [];
  timers.at(5, () => {
    ran.push('first');
    timers.at(3, () => ran.push('second'));
  });
  await clock.advance(5);
  assert.deepEqual(ran, ['first', 'second']);
});

test('an entry before all others sets the timer earlier, and nothing runs after close', async () => {
  const { clock, timers, lateMs } = aQueue();
  const ran: number[] = [];
  timers.at(100, () => ran.push(100));
  timers.at(10, () => ran.push(10));
  await clock.advance(10);
  assert.deepEqual(ran, [10]);
  assert.deepEqual(lateMs, [0]);
  timers.close();
  await clock.advance(100);
  assert.deepEqual(ran, [10]);
});
