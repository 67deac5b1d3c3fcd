import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { HangWatchdogOptions } from '../../../src/main/threads/hang-watchdog.ts';
import { SharedThreadState } from '../../../src/main/threads/shared-thread-state.ts';
import { Thread } from '../../../src/main/threads/thread.ts';
import { EventChannel } from '../../../src/main/threads/event-channel.ts';
import { counter, renderMetrics } from '../../../src/shared/metrics/index.ts';
import { HeartbeatsReader } from '../../../src/shared/state/heartbeats.ts';
import { aLogger } from '../../support/logger.ts';
import type { EchoApi, EchoWorkerData } from './echo-thread.ts';

function anEchoThread(watchdogLimits: Pick<HangWatchdogOptions, 'limitMs' | 'periodMs'> = {}) {
  const { logger, lines } = aLogger();
  const state = new SharedThreadState({
    logging: { format: 'text', verbosity: 0, vmodule: [] },
    podSyncThreads: 1,
    syncFrequencyMs: 60_000,
    watchdogLimits,
  });
  state.watchdog.start(logger);
  const events: object[] = [];
  const channel = new EventChannel((event: object) => events.push(event), logger);
  const notifications: unknown[] = [];
  const common = state.workerData('stats');
  let generation = 0;
  const thread = new Thread<EchoApi>({
    name: 'echo',
    entry: new URL('echo-thread.ts', import.meta.url),
    onStart: () => {
      generation += 1;
      const port = channel.open();
      return { workerData: { ...common, generation, events: port } satisfies EchoWorkerData, transferList: [port] };
    },
    resourceLimits: { maxOldGenerationSizeMb: 32, maxYoungGenerationSizeMb: 4 },
    threadStatuses: state.threadStatuses,
    heartbeatRow: common.heartbeatRow,
    watchdog: state.watchdog,
    logger,
    random: () => 0,
    onNotification: (notification) => {
      notifications.push(notification);
      if (notifications.length === 1) throw new Error('a fault of the receiver');
    },
    finish: (api) => api.close(),
  });
  const close = async () => {
    await thread.close();
    channel.close();
    state.watchdog.stop();
  };
  after(close);
  const health = () => new HeartbeatsReader(state.heartbeats).threads()[common.heartbeatRow]!;
  return { thread, lines, events, notifications, state, health, close };
}

test('a call resolves with the result, and rejects with the message of what the thread throws', async () => {
  const { thread, health, close } = anEchoThread();
  assert.deepEqual(await thread.call((api) => api.echo({ a: [1, null, 'ü'] })), { a: [1, null, 'ü'] });
  await assert.rejects(
    thread.call((api) => api.fail()),
    /requested by the test/,
  );
  assert.equal(thread.pendingCalls, 0);
  assert.deepEqual([health().alive, health().starts, health().deaths], [1, 1, 0]);
  assert.ok(health().beat);
  await close();
  assert.deepEqual([health().alive, health().deaths], [0, 0]);
  await assert.rejects(
    thread.call((api) => api.generation()),
    { reason: 'ThreadClosed' },
  );
});

test('a killed thread is restarted; a call in flight is rejected, or retried if requested', async () => {
  const { thread, lines, health } = anEchoThread();
  await thread.call((api) => api.generation());
  const lost = thread.call((api) => api.hang());
  const repeated = thread.call(async (api) => ((await api.generation()) === 1 ? api.hang() : 'from the next worker'), { retry: true });
  await assert.doesNotReject(thread.call((api) => api.generation()));
  await thread.kill();
  await assert.rejects(lost, { reason: 'ThreadDied', message: 'the echo thread died with exit code 1' });
  assert.equal(await repeated, 'from the next worker');
  assert.equal(thread.pendingCalls, 0);
  assert.deepEqual([health().starts, health().deaths, health().lastExitCode], [2, 1, 1]);
  assert.equal(lines.find(({ msg }) => msg.startsWith('thread died'))?.['thread'], 'echo');
});

test('a call while the thread is down waits for the next worker', async () => {
  const { thread } = anEchoThread();
  await thread.call((api) => api.generation());
  await thread.kill();
  assert.equal(await thread.call((api) => api.generation()), 2);
});

test('an uncaught error ends the worker, and its message is recorded', async () => {
  const { thread, health } = anEchoThread();
  await assert.rejects(
    thread.call((api) => api.die()),
    (err: Error) => (err.cause as Error).message === 'the test requested death',
  );
  assert.equal(await thread.call((api) => api.generation()), 2);
  assert.equal(health().lastError, 'the test requested death');
});

test('a worker that exhausts its heap is restarted, and main continues', async () => {
  const { thread, lines } = anEchoThread();
  await assert.rejects(
    thread.call((api) => api.eatHeap()),
    { reason: 'ThreadDied' },
  );
  assert.equal(await thread.call((api) => api.generation()), 2);
  assert.match(JSON.stringify(lines), /memory/);
});

test('a call without a reply ends by its deadline', async () => {
  const { thread } = anEchoThread();
  await assert.rejects(
    thread.call((api) => api.hang(), { deadlineMs: 20 }),
    { reason: 'DeadlineExceeded', message: 'the echo thread did not answer within 20 ms' },
  );
  assert.equal(await thread.call((api) => api.generation()), 1);
});

test('counters and notifications continue after a restart: the segment is kept, the port is new', async () => {
  const { thread, events, state } = anEchoThread();
  await thread.call((api) => api.echo(1));
  await thread.kill();
  await thread.call((api) => api.echo(2));
  assert.deepEqual(events, [{ started: 1 }, { echoed: true }, { started: 2 }, { echoed: true }]);
  assert.match(renderMetrics(state.metricsSegments(), [counter('echoes_total', 'Echoes.')]), /\nechoes_total 2\n/);
});

test('notifications on the port of the answers arrive before the answer, each as its own event', async () => {
  const { thread, notifications, lines } = anEchoThread();
  for (let call = 1; call <= 50; call += 1) {
    await thread.call((api) => api.notify(20));
    assert.equal(notifications.length, 20 * call);
  }
  assert.deepEqual(notifications.slice(0, 3), [{ number: 1 }, { number: 2 }, { number: 3 }]);
  assert.equal(lines.filter(({ msg }) => msg === 'Contained a fault').length, 1);
});

test('notifications of a dying thread arrive before those of the next one', async () => {
  const { thread, notifications } = anEchoThread();
  await assert.rejects(
    thread.call((api) => api.notifyAndDie()),
    { reason: 'ThreadDied' },
  );
  await thread.call((api) => api.notify(1));
  assert.deepEqual(notifications, [{ last: 1 }, { number: 1 }]);
});

test('a thread that is killed six times at any moment is restarted each time and leaks no call', async () => {
  const { thread, health } = anEchoThread();
  for (let death = 1; death <= 6; death += 1) {
    const calls = Array.from({ length: 20 }, () => thread.call((api) => api.echo(death), { retry: true }));
    // Awaits none, some or all calls: the kill hits a worker that is starting, serving or idle.
    if (death % 3 === 1) await calls[10];
    if (death % 3 === 2) await Promise.all(calls);
    await thread.kill();
    await Promise.allSettled(calls);
    assert.equal(thread.pendingCalls, 0);
  }
  // A kill while the thread is down has no effect.
  assert.ok(health().deaths >= 4);
  assert.equal(await thread.call((api) => api.generation()), health().deaths + 1);
});

test('a thread in an endless loop is restarted, and a call with retry resolves', async () => {
  const { thread, lines, health } = anEchoThread({ limitMs: 4000, periodMs: 200 });
  await thread.call((api) => api.generation());
  const lost = thread.call((api) => api.spin(), { deadlineMs: null });
  const repeated = thread.call(async (api) => api.generation(), { deadlineMs: null, retry: true });
  await assert.rejects(lost, (err: Error) => /^no heartbeat for \d+ s$/.test((err.cause as Error).message));
  assert.equal(await repeated, 2);
  assert.equal(health().deaths, 1);
  assert.match(health().lastError, /^no heartbeat for/);
  assert.equal(lines.filter(({ msg }) => msg.startsWith('thread hangs'))[0]?.['thread'], 'stats');
});
