import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startHeartbeat } from '../../../../src/shared/state/start-heartbeat.ts';
import { claimSlot, createClaims, releaseSlot } from '../../../../src/shared/state/claims.ts';
import { createHeartbeats, HeartbeatsReader, ThreadStatusWriter } from '../../../../src/shared/state/heartbeats.ts';
import { FakeClock } from '../../../support/fake-clock.ts';

function someHeartbeats() {
  const heartbeats = createHeartbeats([{ thread: 'main', loopStaleAfterMs: 300_000 }, { thread: 'pleg' }]);
  const lives = new ThreadStatusWriter(heartbeats);
  return { heartbeats, lives, reader: new HeartbeatsReader(heartbeats), row: lives.rowOf('pleg') };
}

test('a thread that was never started has neither life nor beat', () => {
  const { reader } = someHeartbeats();
  const [main, pleg] = reader.threads();
  assert.equal(main?.loopStaleAfterMs, 300_000);
  assert.deepEqual([pleg?.thread, pleg?.alive, pleg?.starts, pleg?.beat], ['pleg', 0, 0, undefined]);
});

test('a thread beats each second and says how late it was', async () => {
  const { heartbeats, lives, reader, row } = someHeartbeats();
  const clock = new FakeClock();
  const delays: number[] = [];
  lives.started(row, clock.monotonic());
  const heart = startHeartbeat({ heartbeats, heartbeatRow: row, clock, onBeat: (seconds) => delays.push(seconds) });
  await clock.advance(3000);
  heart.loop();
  assert.deepEqual(reader.threads()[row]?.beat, { beatAtMs: 3000, eventLoopDelayMs: 0, loopAtMs: 3000 });
  assert.deepEqual(delays, [0, 0, 0, 0]);
  heart.stop();
  await clock.advance(3000);
  assert.equal(reader.threads()[row]?.beat?.beatAtMs, 3000);
});

test('a death is counted with its cause, and the beat of the life before is no sign of the next', () => {
  const { heartbeats, lives, reader, row } = someHeartbeats();
  const clock = new FakeClock();
  lives.started(row, 0);
  startHeartbeat({ heartbeats, heartbeatRow: row, clock }).stop();
  lives.died(row, 1, `${'ü'.repeat(300)}\nat someone`);
  const dead = reader.threads()[row];
  assert.deepEqual([dead?.alive, dead?.starts, dead?.deaths, dead?.lastExitCode], [0, 1, 1, 1]);
  assert.match(dead?.lastError ?? '', /^ü+…$/);
  lives.started(row, 5);
  assert.equal(reader.threads()[row]?.beat, undefined);
  assert.equal(reader.threads()[row]?.starts, 2);
});

test('pool threads take the first free slot, and a dead thread gives its slot back', () => {
  const claims = createClaims(2);
  assert.deepEqual([claimSlot(claims, 11), claimSlot(claims, 12)], [0, 1]);
  assert.throws(() => claimSlot(claims, 13), /thread 13 found all 2 slots of the pool taken, by the threads 11, 12/);
  assert.equal(releaseSlot(claims, 11), 0);
  assert.equal(releaseSlot(claims, 11), -1);
  assert.equal(claimSlot(claims, 13), 0);
});
