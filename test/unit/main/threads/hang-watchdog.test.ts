import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HangWatchdog } from '../../../../src/main/threads/hang-watchdog.ts';
import { HeartbeatWriter, createHeartbeats, ThreadStatusWriter } from '../../../../src/shared/state/heartbeats.ts';
import type { Clock } from '../../../../src/shared/time/clock.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { silentLogger } from '../../../support/logger.ts';

/** Three threads; the one that is watched beats each second while `beats` says so. */
function aWatched({ isDebugged = () => false }: { isDebugged?: () => boolean } = {}) {
  const clock = new FakeClock();
  const heartbeats = createHeartbeats([{ thread: 'main' }, { thread: 'pleg' }, { thread: 'stats' }]);
  const lives = new ThreadStatusWriter(heartbeats);
  const writer = new HeartbeatWriter(heartbeats, 1);
  const ended: string[] = [];
  const watched = { beats: true };
  /** How long main's monotonic clock ran while nobody did. */
  let pausedMs = 0;
  const real: Clock = {
    now: () => clock.now(),
    monotonic: () => clock.monotonic() + pausedMs,
    sleep: (ms, signal) => clock.sleep(ms, signal),
    after: (ms, callback) => clock.after(ms, callback),
  };
  const watch = new HangWatchdog({ heartbeats, clock: real, isDebugged });
  const beat = () => {
    if (watched.beats) writer.beat(real.monotonic(), 0);
    clock.after(1000, beat);
  };
  lives.started(1, 0);
  beat();
  const letBe = watch.follow(1, (why) => ended.push(`at ${Math.round(clock.monotonic() / 1000)} s: ${why}`));
  watch.start(silentLogger);
  return { clock, lives, ended, watch, watched, letBe, pause: (ms: number) => (pausedMs += ms) };
}

test('a thread that beats is let be', async () => {
  const { clock, ended } = aWatched();
  await clock.advance(100_000);
  assert.deepEqual(ended, []);
});

test('a thread that is silent for 45 s is ended, and again when that did not help', async () => {
  const { clock, ended, watched } = aWatched();
  await clock.advance(100_000);
  watched.beats = false;
  await clock.advance(40_000);
  assert.deepEqual(ended, []);
  await clock.advance(60_000);
  assert.deepEqual(ended, ['at 150 s: it was not heard of for 45 s', 'at 195 s: it was not heard of for 45 s']);
});

test('a thread that never beat is ended after the same time', async () => {
  const { clock, lives, ended, watched } = aWatched();
  watched.beats = false;
  await clock.advance(10_000);
  lives.started(1, clock.monotonic());
  await clock.advance(50_000);
  assert.equal(ended.length, 1);
});

test('a silence while main was stalled, or the machine slept, is nobody’s fault', async () => {
  const { clock, ended, pause } = aWatched();
  for (let pauses = 0; pauses < 20; pauses += 1) {
    pause(600_000);
    await clock.advance(5000);
  }
  assert.deepEqual(ended, []);
});

test('a thread at a breakpoint of a debugger is let be', async () => {
  let attached = true;
  const { clock, ended, watched } = aWatched({ isDebugged: () => attached });
  watched.beats = false;
  await clock.advance(150_000);
  assert.deepEqual(ended, []);
  attached = false;
  await clock.advance(40_000);
  assert.deepEqual(ended, []);
  await clock.advance(10_000);
  assert.equal(ended.length, 1);
});

test('a thread that is down, let be or not followed is not ended; nothing is after the watch was stopped', async () => {
  const { clock, lives, ended, watch, watched, letBe } = aWatched();
  watched.beats = false;
  lives.died(1, 1, '');
  await clock.advance(100_000);
  lives.started(1, clock.monotonic());
  letBe();
  await clock.advance(100_000);
  watch.follow(1, () => ended.push('ended'));
  watch.stop();
  await clock.advance(100_000);
  assert.deepEqual(ended, []);
});
