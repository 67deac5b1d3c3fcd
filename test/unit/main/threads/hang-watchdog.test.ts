import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HangWatchdog } from '../../../../src/main/threads/hang-watchdog.ts';
import { HeartbeatWriter, createHeartbeats, ThreadStatusWriter } from '../../../../src/shared/state/heartbeats.ts';
import type { Clock } from '../../../../src/shared/time/clock.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { silentLogger } from '../../../support/logger.ts';

/** Three threads, of which one is followed. That thread beats each second while `beats` is true. */
function aWatchdog({ isDebugged = () => false }: { isDebugged?: () => boolean } = {}) {
  const clock = new FakeClock();
  const heartbeats = createHeartbeats([{ thread: 'main' }, { thread: 'pleg' }, { thread: 'stats' }]);
  const threadStatuses = new ThreadStatusWriter(heartbeats);
  const writer = new HeartbeatWriter(heartbeats, 1);
  const terminated: string[] = [];
  const followed = { beats: true };
  /** The time by which main's monotonic clock advanced while no timer ran. */
  let pausedMs = 0;
  const pausingClock: Clock = {
    now: () => clock.now(),
    monotonic: () => clock.monotonic() + pausedMs,
    sleep: (ms, signal) => clock.sleep(ms, signal),
    after: (ms, callback) => clock.after(ms, callback),
  };
  const watchdog = new HangWatchdog({ heartbeats, clock: pausingClock, isDebugged });
  const beat = () => {
    if (followed.beats) writer.beat(pausingClock.monotonic(), 0);
    clock.after(1000, beat);
  };
  threadStatuses.started(1, 0);
  beat();
  const unfollow = watchdog.follow(1, (why) => terminated.push(`at ${Math.round(clock.monotonic() / 1000)} s: ${why}`));
  watchdog.start(silentLogger);
  return { clock, threadStatuses, terminated, watchdog, followed, unfollow, pause: (ms: number) => (pausedMs += ms) };
}

test('a thread with a heartbeat is not terminated', async () => {
  const { clock, terminated } = aWatchdog();
  await clock.advance(100_000);
  assert.deepEqual(terminated, []);
});

test('a thread without a heartbeat for 45 s is terminated, and again if it still runs', async () => {
  const { clock, terminated, followed } = aWatchdog();
  await clock.advance(100_000);
  followed.beats = false;
  await clock.advance(40_000);
  assert.deepEqual(terminated, []);
  await clock.advance(60_000);
  assert.deepEqual(terminated, ['at 150 s: no heartbeat for 45 s', 'at 195 s: no heartbeat for 45 s']);
});

test('a thread that never beat is terminated after the same time', async () => {
  const { clock, threadStatuses, terminated, followed } = aWatchdog();
  followed.beats = false;
  await clock.advance(10_000);
  threadStatuses.started(1, clock.monotonic());
  await clock.advance(50_000);
  assert.equal(terminated.length, 1);
});

test('a stall of main or a suspended machine terminates no thread', async () => {
  const { clock, terminated, pause } = aWatchdog();
  for (let pauses = 0; pauses < 20; pauses += 1) {
    pause(600_000);
    await clock.advance(5000);
  }
  assert.deepEqual(terminated, []);
});

test('no thread is terminated while a debugger is attached', async () => {
  let attached = true;
  const { clock, terminated, followed } = aWatchdog({ isDebugged: () => attached });
  followed.beats = false;
  await clock.advance(150_000);
  assert.deepEqual(terminated, []);
  attached = false;
  await clock.advance(40_000);
  assert.deepEqual(terminated, []);
  await clock.advance(10_000);
  assert.equal(terminated.length, 1);
});

test('a thread that is down or not followed is not terminated, and none is after the watchdog was stopped', async () => {
  const { clock, threadStatuses, terminated, watchdog, followed, unfollow } = aWatchdog();
  followed.beats = false;
  threadStatuses.died(1, 1, '');
  await clock.advance(100_000);
  threadStatuses.started(1, clock.monotonic());
  unfollow();
  await clock.advance(100_000);
  watchdog.follow(1, () => terminated.push('terminated'));
  watchdog.stop();
  await clock.advance(100_000);
  assert.deepEqual(terminated, []);
});
