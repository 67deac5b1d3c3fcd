import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setImmediate as nextIteration, setTimeout as sleep } from 'node:timers/promises';
import { PodSyncPool, type PodSyncPoolOptions } from '../../../src/main/threads/pod-sync-pool.ts';
import { SharedThreadState } from '../../../src/main/threads/shared-thread-state.ts';
import type { TaskHandlers, PodTask } from '../../../src/main/threads/task-channel.ts';
import type { RecordedEvent } from '../../../src/shared/contracts/event.ts';
import type { PodSyncSettings } from '../../../src/shared/contracts/pod-sync/worker-data.ts';
import type { PodUID } from '../../../src/shared/kubernetes/ids.ts';
import { HeartbeatsReader } from '../../../src/shared/state/heartbeats.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { aLogger } from '../../support/logger.ts';

function aPool(over: Partial<TaskHandlers> = {}, settings: unknown = {}, more: Partial<PodSyncPoolOptions> = { minThreads: 2 }) {
  const { logger, lines } = aLogger();
  const watchdogLimits = { limitMs: 4000, periodMs: 200 };
  const state = new SharedThreadState({
    logging: { format: 'text', verbosity: 0, vmodule: [] },
    podSyncThreads: 2,
    syncFrequencyMs: 60_000,
    watchdogLimits,
  });
  state.watchdog.start(logger);
  const permits: string[] = [];
  const handlers: TaskHandlers = {
    ensureImage: async () => ({ outcome: 'present', imageRef: 'sha256:1' }),
    startPermit: async (kind) => ({ release: (succeeded) => permits.push(`${kind} ${succeeded}`) }),
    event: () => {},
    ...over,
  };
  const pool = PodSyncPool.start({
    state,
    logger,
    settings: settings as PodSyncSettings,
    entry: new URL('pool-worker.ts', import.meta.url),
    ...more,
  });
  after(async () => {
    state.watchdog.stop();
    await pool.close();
  });
  const threads = () => new HeartbeatsReader(state.heartbeats).threads().filter(({ thread }) => thread.startsWith('pod-sync-'));
  const run = (task: PodTask) => pool.run(task, handlers);
  return { pool, run, lines, permits, threads };
}
const aTask = (podUID: string): PodTask => ({ kind: 'cleanUp', podUID: podUID as PodUID, node: {} as never });

test('a task gets replies to its requests over its channel, and its permit is released', async () => {
  const recorded = Promise.withResolvers<RecordedEvent>();
  const { pool, run, permits } = aPool({ event: recorded.resolve });
  assert.equal((await run(aTask('image-and-permit')).result).outcome, 'synced');
  assert.deepEqual(permits, ['sandbox true']);
  const [permit, image] = JSON.parse((await recorded.promise).message) as { type: string; id: number }[];
  assert.deepEqual([permit?.type, permit?.id, image?.type, image?.id], ['startPermit', 1, 'ensureImage', 2]);
  assert.equal(pool.pending, 0);
});

test('each thread prepares before its first task when main requests it', async () => {
  const { pool, run } = aPool();
  const arePrepared = async () => {
    const results = await Promise.all([run(aTask('is-ready')).result, run(aTask('is-ready')).result]);
    return results.map(({ retryAtMs }) => retryAtMs);
  };
  assert.deepEqual(await arePrepared(), [0, 0]);
  pool.prepare();
  assert.deepEqual(await arePrepared(), [1, 1]);
});

test('a task gets the command to stop, and the shortest grace period', async () => {
  const { run } = aPool();
  const stopped = run(aTask('until-stopped'));
  const shrunk = run(aTask('until-shrunk'));
  stopped.stop(false);
  shrunk.shrinkGracePeriod(5);
  shrunk.shrinkGracePeriod(30);
  assert.equal((await stopped.result).outcome, 'stopped');
  assert.equal((await shrunk.result).retryAtMs, 5);
});

test('hundreds of tasks share the threads', async () => {
  const { run } = aPool();
  const runs = Array.from({ length: 600 }, () => run(aTask('until-stopped')));
  const slots = await Promise.all(Array.from({ length: 4 }, () => run(aTask('which-slot')).result));
  assert.ok(slots.every(({ retryAtMs }) => retryAtMs === 0 || retryAtMs === 1));
  for (const run of runs) run.stop(false);
  const results = await Promise.all(runs.map(({ result }) => result));
  assert.ok(results.every(({ outcome }) => outcome === 'stopped'));
});

test('tasks that are lost with their threads are sent again, with their commands', async () => {
  const { pool, run, lines, threads } = aPool();
  await Promise.all(Array.from({ length: 4 }, () => run(aTask('any')).result));
  const runs = Array.from({ length: 20 }, () => run(aTask('until-stopped')));
  const before = threads().filter(({ alive }) => alive === 1).length;
  assert.equal(before, 2);
  await Promise.all([pool.kill(0), pool.kill(1)]);
  for (const run of runs) run.stop(false);
  assert.ok((await Promise.all(runs.map(({ result }) => result))).every(({ outcome }) => outcome === 'stopped'));
  assert.equal(
    threads().reduce((sum, { deaths }) => sum + deaths, 0),
    2,
  );
  assert.ok(lines.some(({ msg }) => msg.startsWith('thread died')));
  assert.equal(pool.pending, 0);
});

test('the permits of a lost task are released, and its requests are cancelled', async () => {
  const cancelled = Promise.withResolvers<string>();
  const released: string[] = [];
  const requested = Promise.withResolvers<void>();
  const { pool, run } = aPool({
    startPermit: (kind, _task, signal) => {
      if (kind === 'sandbox') return Promise.resolve({ release: (succeeded) => released.push(`${kind} ${succeeded}`) });
      requested.resolve();
      return new Promise((_, reject) => {
        signal.addEventListener('abort', () => {
          cancelled.resolve(kind);
          reject(signal.reason as Error);
        });
      });
    },
  });
  run(aTask('permit-then-hang')).result.catch(() => {});
  await requested.promise;
  await Promise.all([pool.kill(0), pool.kill(1)]);
  assert.equal(await cancelled.promise, 'container');
  await nextIteration();
  assert.deepEqual(released, ['sandbox false']);
});

test('a task that kills every thread fails, and the pool continues', async () => {
  const { run } = aPool();
  const result = await run(aTask('kills-its-thread')).result;
  assert.equal(result.outcome, 'failed');
  assert.equal(result.outcome === 'failed' && result.failure.reason, 'SyncThreadLost');
  assert.equal((await run(aTask('any')).result).outcome, 'synced');
});

test('a task that was in a thread at two deaths runs alone, and ends no task of another pod from then on', async () => {
  const { pool, run, threads, lines } = aPool();
  const deaths = () => threads().reduce((sum, thread) => sum + thread.deaths, 0);
  await Promise.all(Array.from({ length: 4 }, () => run(aTask('any')).result));
  const others = Array.from({ length: 4 }, () => run(aTask('until-stopped')));
  const killer = await run(aTask('kills-its-thread')).result;
  assert.equal(killer.outcome, 'failed');
  assert.equal(deaths(), 3);
  // Those that were in both threads are stopped, and do not delay the next attempts.
  for (const other of others) other.stop(false);
  assert.ok((await Promise.all(others.map(({ result }) => result))).every(({ outcome }) => outcome === 'stopped'));
  const innocent = Array.from({ length: 20 }, () => run(aTask('until-shrunk')));
  const lost = () => lines.filter(({ msg }) => msg.startsWith('a task was lost')).length;
  const before = lost();
  for (let attempt = 0; attempt < 3; attempt += 1) assert.equal((await run(aTask('kills-its-thread')).result).outcome, 'failed');
  assert.equal(deaths(), 6);
  assert.equal(lost(), before);
  for (const one of innocent) one.shrinkGracePeriod(1);
  assert.ok((await Promise.all(innocent.map(({ result }) => result))).every(({ outcome }) => outcome === 'synced'));
  assert.equal(pool.pending, 0);
});

test('threads that are killed at any moment, also while they start, are replaced, and no task is lost', async () => {
  const { pool, run } = aPool();
  for (let round = 0; round < 5; round += 1) {
    const runs = Array.from({ length: 10 }, () => run(aTask('any')).result);
    if (round % 2 === 1) await runs[5];
    await Promise.all([pool.kill(0), pool.kill(1)]);
    for (const result of await Promise.all(runs)) assert.equal(result.outcome, 'synced');
  }
  assert.equal(pool.pending, 0);
});

test('a thread’s entry is imported, not required: terminating a thread during a require aborts the process', async () => {
  const { run } = aPool();
  assert.equal((await run(aTask('is-required')).result).retryAtMs, 0);
});

test('a manifest is decoded in the pool; a fault of the decoder is an error of the manifest', async () => {
  const { pool } = aPool();
  const task = { source: 'file', nodeName: 'n', content: Buffer.from('hello') } as const;
  assert.deepEqual(await pool.decodeManifest({ ...task, origin: 'a.yaml' }), { pods: [], errors: ['hello'], readable: true });
  assert.deepEqual(await pool.decodeManifest({ ...task, origin: 'broken' }), {
    pods: [],
    errors: ['broken: it is broken'],
    readable: false,
  });
});

test('a closed pool rejects the tasks under way and later ones', async () => {
  const { pool, run, threads } = aPool();
  await run(aTask('any')).result;
  const { result } = run(aTask('until-stopped'));
  const rejected = assert.rejects(result, { reason: 'ThreadClosed' });
  await pool.close();
  await rejected;
  await assert.rejects(run(aTask('any')).result, { reason: 'ThreadClosed' });
  assert.ok(threads().every(({ alive, deaths }) => alive === 0 && deaths === 0));
});

test('a thread in an endless loop is terminated, and all of its tasks are sent again', async () => {
  const { run, lines, threads } = aPool({}, new SharedArrayBuffer(4));
  await Promise.all(Array.from({ length: 4 }, () => run(aTask('any')).result));
  const blocking = run(aTask('spins-once'));
  const others = Array.from({ length: 20 }, () => run(aTask('any')).result);
  assert.equal((await blocking.result).outcome, 'synced');
  assert.ok((await Promise.all(others)).every(({ outcome }) => outcome === 'synced'));
  assert.equal(lines.filter(({ msg }) => msg.startsWith('thread hangs')).length, 1);
  assert.match(threads().find(({ deaths }) => deaths === 1)?.lastError ?? '', /^no heartbeat for/);
});

test('a fault that a task leaves behind ends neither its thread nor the thread’s tasks', async () => {
  const { run, lines } = aPool();
  const others = [run(aTask('until-stopped')), run(aTask('until-stopped'))];
  for (let task = 0; task < 4; task += 1) assert.equal((await run(aTask('leaves-faults')).result).outcome, 'synced');
  assert.equal((await run(aTask('any')).result).outcome, 'synced');
  for (const other of others) other.stop(false);
  assert.deepEqual(await Promise.all(others.map(async ({ result }) => (await result).outcome)), ['stopped', 'stopped']);
  assert.deepEqual(
    lines.filter(({ msg }) => msg.startsWith('thread died') || msg.startsWith('a task was lost')),
    [],
  );
});

test('many tasks start another thread, for which no task waits, and which ends a minute after them', async () => {
  const clock = new FakeClock();
  const { pool, run, threads } = aPool({}, {}, { clock });
  const alive = () => threads().filter(({ alive: isAlive }) => isAlive === 1).length;
  pool.prepare();
  await run(aTask('any')).result;
  const runs = Array.from({ length: 40 }, () => run(aTask('until-stopped')));
  assert.equal((await run(aTask('which-slot')).result).retryAtMs, 0);
  assert.equal(alive(), 1);
  while (alive() < 2) await sleep(10);
  while ((await run(aTask('which-slot')).result).retryAtMs === 0) await sleep(10);
  assert.equal((await run(aTask('is-ready')).result).retryAtMs, 1);
  for (const run of runs) run.stop(false);
  assert.ok((await Promise.all(runs.map(({ result }) => result))).every(({ outcome }) => outcome === 'stopped'));
  await clock.advance(59_999);
  assert.equal(alive(), 2);
  const late = run(aTask('until-stopped'));
  await clock.advance(1);
  while (alive() > 1) await sleep(10);
  assert.equal((await run(aTask('which-slot')).result).retryAtMs, 0);
  late.stop(false);
  assert.equal((await late.result).outcome, 'stopped');
  assert.ok(threads().every(({ deaths }) => deaths === 0));
});
