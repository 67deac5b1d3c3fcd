import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startHeartbeat } from '../../../../src/shared/state/start-heartbeat.ts';
import { claimSlot, createClaims, releaseSlot } from '../../../../src/shared/state/claims.ts';
import { createHeartbeats, HeartbeatsReader, ThreadStatusWriter } from '../../../../src/shared/state/heartbeats.ts';
import { FakeClock } from '../../../support/fake-clock.ts';

function someHeartbeats() {
  const heartbeats = createHeartbeats([{ thread: 'main', loopStaleAfterMs: 300_000 }, { thread: 'pleg' }]);
  const threadStatuses = new ThreadStatusWriter(heartbeats);
  return { heartbeats, threadStatuses, reader: new HeartbeatsReader(heartbeats), row: threadStatuses.rowOf('pleg') };
}

test('a thread that was never started has neither a start nor a heartbeat', () => {
  const { reader } = someHeartbeats();
  const [main, pleg] = reader.threads();
  assert.equal(main?.loopStaleAfterMs, 300_000);
  assert.deepEqual([pleg?.thread, pleg?.alive, pleg?.starts, pleg?.beat], ['pleg', 0, 0, undefined]);
});

test('a thread beats each second and records the delay of its event loop', async () => {
  const { heartbeats, threadStatuses, reader, row } = someHeartbeats();
  const clock = new FakeClock();
  const delays: number[] = [];
  threadStatuses.started(row, clock.monotonic());
  const heartbeat = startHeartbeat({ heartbeats, heartbeatRow: row, clock, onBeat: (seconds) => delays.push(seconds) });
  await clock.advance(3000);
  heartbeat.loop();
  assert.deepEqual(reader.threads()[row]?.beat, { beatAtMs: 3000, eventLoopDelayMs: 0, loopAtMs: 3000, waitsUntilMs: 0 });
  heartbeat.beginWait(5000);
  await clock.advance(1000);
  assert.deepEqual(reader.threads()[row]?.beat, { beatAtMs: 4000, eventLoopDelayMs: 0, loopAtMs: 3000, waitsUntilMs: 8000 });
  heartbeat.loop();
  assert.deepEqual(reader.threads()[row]?.beat, { beatAtMs: 4000, eventLoopDelayMs: 0, loopAtMs: 4000, waitsUntilMs: 0 });
  assert.deepEqual(delays, [0, 0, 0, 0, 0]);
  heartbeat.beginWait(5000);
  heartbeat.endWait();
  assert.equal(reader.threads()[row]?.beat?.waitsUntilMs, 0);
  heartbeat.stop();
  await clock.advance(3000);
  assert.equal(reader.threads()[row]?.beat?.beatAtMs, 4000);
});

test('a death is recorded with its cause, and a heartbeat from before a restart does not count after it', async () => {
  const { heartbeats, threadStatuses, reader, row } = someHeartbeats();
  const clock = new FakeClock();
  threadStatuses.started(row, 0);
  const first = startHeartbeat({ heartbeats, heartbeatRow: row, clock });
  first.loop();
  first.beginWait(60_000);
  first.stop();
  threadStatuses.died(row, 1, `${'ü'.repeat(300)}\nat someone`);
  const dead = reader.threads()[row];
  assert.deepEqual([dead?.alive, dead?.starts, dead?.deaths, dead?.lastExitCode], [0, 1, 1, 1]);
  assert.match(dead?.lastError ?? '', /^ü+…$/);
  threadStatuses.started(row, 5);
  assert.equal(reader.threads()[row]?.beat, undefined);
  assert.equal(reader.threads()[row]?.starts, 2);
  await clock.advance(5);
  startHeartbeat({ heartbeats, heartbeatRow: row, clock }).stop();
  assert.equal(reader.threads()[row]?.beat?.waitsUntilMs, 0, 'a wait ends with its thread');
});

test('pool threads claim the first free slot, and the slot of a dead thread is released', () => {
  const claims = createClaims(2);
  assert.deepEqual([claimSlot(claims, 11), claimSlot(claims, 12)], [0, 1]);
  assert.throws(() => claimSlot(claims, 13), /thread 13 found all 2 slots of the pool taken, by the threads 11, 12/);
  assert.equal(releaseSlot(claims, 11), 0);
  assert.equal(releaseSlot(claims, 11), -1);
  assert.equal(claimSlot(claims, 13), 0);
});
