import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test } from 'node:test';
import type { Worker } from 'node:worker_threads';
import { WorkerSupervisor, type WorkerExit } from '../../../../src/main/threads/worker-supervisor.ts';
import { createHeartbeats, HeartbeatsReader, ThreadStatusWriter } from '../../../../src/shared/state/heartbeats.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { aLogger } from '../../../support/logger.ts';

class FakeWorker extends EventEmitter {
  async terminate(): Promise<number> {
    this.emit('exit', 1);
    return 1;
  }
}

function aSupervisor() {
  const clock = new FakeClock();
  const { logger, lines } = aLogger();
  const heartbeats = createHeartbeats([{ thread: 'pleg' }]);
  const supervisor = new WorkerSupervisor({ threadStatuses: new ThreadStatusWriter(heartbeats), logger, clock, random: () => 0 });
  const worker = new FakeWorker();
  const terminate = supervisor.onExit(worker as unknown as Worker, (exit: WorkerExit) => supervisor.recordExit('pleg', 0, exit));
  supervisor.recordStart(0, 0, terminate);
  const status = () => {
    const { alive, starts, deaths, lastExitCode, lastError } = new HeartbeatsReader(heartbeats).threads()[0]!;
    return { alive, starts, deaths, lastExitCode, lastError };
  };
  return { clock, lines, supervisor, worker, terminate, status };
}

test('an exit is recorded and logged as a death with its cause', () => {
  const { lines, worker, status } = aSupervisor();
  worker.emit('error', new Error('out of memory'));
  worker.emit('exit', 134);
  assert.deepEqual(status(), { alive: 0, starts: 1, deaths: 1, lastExitCode: 134, lastError: 'out of memory' });
  assert.deepEqual(
    lines.map(({ msg, thread, exitCode }) => [msg, thread, exitCode]),
    [['thread died; it will be started again', 'pleg', 134]],
  );
});

test('the reason of a termination is the cause of the exit', () => {
  const { terminate, status } = aSupervisor();
  terminate('no heartbeat for 45 s');
  assert.equal(status().lastError, 'no heartbeat for 45 s');
});

test('an exit after close is no death', () => {
  const { lines, supervisor, worker, status } = aSupervisor();
  supervisor.close();
  worker.emit('exit', 0);
  assert.deepEqual([status().alive, status().deaths, lines], [0, 0, []]);
});

test('a start that throws is retried with a growing delay', async () => {
  const { clock, supervisor } = aSupervisor();
  const starts: number[] = [];
  const start = () => {
    starts.push(clock.monotonic());
    if (starts.length < 4) throw new Error('no more threads');
  };
  assert.equal(supervisor.scheduleRestart('pleg', 60_000, start), 0);
  await clock.advance(10_000);
  assert.deepEqual(starts, [0, 0, 50, 150]);
});

test('close cancels a restart', async () => {
  const { clock, supervisor } = aSupervisor();
  let starts = 0;
  supervisor.scheduleRestart('pleg', 60_000, () => (starts += 1));
  supervisor.close();
  await clock.advance(10_000);
  assert.equal(starts, 0);
});
