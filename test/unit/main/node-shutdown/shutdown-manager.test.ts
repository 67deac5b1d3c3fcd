import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LogindSession } from '../../../../src/main/node-shutdown/logind-session.ts';
import { NodeShutdownState, ShutdownManager } from '../../../../src/main/node-shutdown/index.ts';
import type { ShutdownManagerDependencies } from '../../../../src/main/node-shutdown/shutdown-manager.ts';
import type { KillPodOptions } from '../../../../src/main/pods/workers/index.ts';
import type { PodUID } from '../../../../src/shared/kubernetes/ids.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';
import { aLogger } from '../../../support/logger.ts';
import { aPod } from '../../../support/pods/pods.ts';
import { table } from '../../../support/table.ts';

/** logind and D-Bus as the manager sees them. */
class FakeLogind {
  maxDelayMs = 5000;
  /** Whether a new InhibitDelayMaxSec takes effect. */
  obeys = true;
  isPreparing = false;
  connectError = '';
  sessions = 0;
  readonly locks = new Set<number>();
  #taken = 0;
  #prepare: (isShuttingDown: boolean) => void = () => {};
  #lose: () => void = () => {};

  async open(onPrepare: (isShuttingDown: boolean) => void): Promise<LogindSession> {
    if (this.connectError !== '') throw new Error(this.connectError);
    this.sessions += 1;
    this.#prepare = onPrepare;
    const closed = Promise.withResolvers<void>();
    this.#lose = closed.resolve;
    return {
      closed: closed.promise,
      maxDelayMs: async () => this.maxDelayMs,
      setMaxDelay: async (ms) => void (this.obeys && (this.maxDelayMs = ms)),
      isPreparingForShutdown: async () => this.isPreparing,
      inhibit: async () => {
        if (this.isPreparing) throw new Error('org.freedesktop.login1.OperationInProgress');
        const lock = (this.#taken += 1);
        this.locks.add(lock);
        return { release: () => void this.locks.delete(lock) };
      },
      close: closed.resolve,
    };
  }

  announce(isShuttingDown: boolean): void {
    this.isPreparing = isShuttingDown;
    this.#prepare(isShuttingDown);
  }

  loseConnection(): void {
    this.#lose();
  }
}

const pods = [aPod({ metadata: { uid: 'low', name: 'low' }, spec: { priority: 0, terminationGracePeriodSeconds: 30 } })];
pods.push(aPod({ metadata: { uid: 'high', name: 'high' }, spec: { priority: 1000, terminationGracePeriodSeconds: 30 } }));

function aManager(over: Partial<ShutdownManagerDependencies> = {}) {
  const clock = new FakeClock();
  const logind = new FakeLogind();
  const state = new NodeShutdownState();
  const log = aLogger();
  const events: string[] = [];
  const killed: [atMs: number, uid: string, graceSeconds: number | null][] = [];
  const options: KillPodOptions[] = [];
  const times: object[] = [];
  /** Pods of which nothing is left; the others never end. */
  const ending = new Set<string>(['low', 'high']);
  const stop = new AbortController();
  const manager = new ShutdownManager({
    periods: [
      { priority: 0, shutdownGracePeriodSeconds: 20 },
      { priority: 1000, shutdownGracePeriodSeconds: 10 },
    ],
    openSession: (onPrepare) => logind.open(onPrepare),
    activePods: () => pods,
    kill: async (uid: PodUID, given) => {
      killed.push([clock.monotonic(), uid, given.gracePeriodOverrideSeconds]);
      options.push(given);
      await clock.sleep(2000);
    },
    untilFinished: (uid) => (ending.has(uid) ? clock.sleep(1000) : new Promise(() => {})),
    untilVolumesReleased: async () => {},
    state,
    record: { load: async () => {}, store: async (stored) => void times.push(stored) },
    nodeName: 'node-1',
    events: { record: ({ reason, message }) => void events.push(`${reason}: ${message}`) },
    clock,
    logger: log.logger,
    ...over,
  });
  const running = manager.run(stop.signal);
  return { clock, logind, state, log, events, killed, options, times, ending, stop, running };
}

test('a node holds one lock, and logind waits as long as all pods may take', async () => {
  const { clock, logind, killed } = aManager();
  await clock.advance(1000);
  assert.equal(logind.locks.size, 1);
  assert.equal(logind.maxDelayMs, 30_000);
  assert.deepEqual(killed, []);
});

table('a group begins when the volumes of the pods before it are released', (row) => {
  const startsAfter = async (releaseMs: number, highAtMs: number) => {
    const node = aManager({ untilVolumesReleased: (signal) => node.clock.sleep(releaseMs, signal).catch(() => {}) });
    await node.clock.advance(1000);
    node.logind.announce(true);
    await node.clock.advance(25_000);
    assert.deepEqual(node.killed[1], [highAtMs, 'high', 10]);
  };
  row('soon', () => startsAfter(5000, 9000));
  row('never in its time', () => startsAfter(60_000, 21_000));
});

test('a longer delay of logind is kept', async () => {
  const clock = new FakeClock();
  const logind = new FakeLogind();
  logind.maxDelayMs = 60_000;
  aManager({ clock, openSession: (onPrepare) => logind.open(onPrepare) });
  await clock.advance(1000);
  assert.equal(logind.maxDelayMs, 60_000);
});

test('a shutdown ends one priority after the other, and releases the lock when nothing is left', async () => {
  const { clock, logind, state, events, killed, options, times } = aManager();
  await clock.advance(1000);
  logind.announce(true);
  assert.equal(state.problem, 'node is shutting down');
  await clock.advance(3500);
  assert.deepEqual(killed, [
    [1000, 'low', 20],
    [4000, 'high', 10],
  ]);
  assert.equal(logind.locks.size, 1);
  await clock.advance(3000);
  assert.equal(logind.locks.size, 0);
  const message = 'Pod was terminated in response to imminent node shutdown.';
  const failed = { reason: 'Terminated', message, disruption: { reason: 'TerminationByKubelet', message } };
  for (const option of options) assert.deepEqual([option.evicted, option.failed], [false, failed]);
  assert.deepEqual(events, ['Shutdown: Shutdown manager detected shutdown event']);
  const startMs = clock.now() - 6500;
  assert.deepEqual(times, [
    { startMs, endMs: null },
    { startMs, endMs: startMs + 6000 },
  ]);
});

test('a pod of which something is left delays the next priority by the time of its own', async () => {
  const { clock, logind, killed, ending } = aManager();
  ending.clear();
  await clock.advance(1000);
  logind.announce(true);
  await clock.advance(29_900);
  assert.deepEqual(killed, [
    [1000, 'low', 20],
    [21_000, 'high', 10],
  ]);
  assert.equal(logind.locks.size, 1);
  await clock.advance(200);
  assert.equal(logind.locks.size, 0);
});

test('a pod whose end takes longer than the time of its group delays the next priority no longer, with a line in the log', async () => {
  const { clock, logind, killed, log } = aManager({
    kill: async (uid, { gracePeriodOverrideSeconds }) => {
      killed.push([clock.monotonic(), uid, gracePeriodOverrideSeconds]);
      await clock.sleep(60_000);
    },
  });
  await clock.advance(1000);
  logind.announce(true);
  await clock.advance(30_100);
  assert.deepEqual(killed, [
    [1000, 'low', 20],
    [21_000, 'high', 10],
  ]);
  const timeOuts = log.lines.filter(({ msg }) => msg === 'Shutdown manager pod killing time out');
  assert.deepEqual(
    timeOuts.map(({ priority, gracePeriod }) => [priority, gracePeriod]),
    [
      [0, 20],
      [1000, 10],
    ],
  );
  assert.equal(logind.locks.size, 0);
});

test('a pod that cannot be killed, and pods that cannot be listed, do not keep the lock', async () => {
  const fail = () => {
    throw new Error('no worker');
  };
  const unkillable = aManager({ kill: async () => fail() });
  await unkillable.clock.advance(1000);
  unkillable.logind.announce(true);
  await unkillable.clock.advance(100);
  assert.equal(unkillable.logind.locks.size, 0);
  const unlisted = aManager({ activePods: fail });
  await unlisted.clock.advance(1000);
  unlisted.logind.announce(true);
  await unlisted.clock.advance(100);
  assert.equal(unlisted.logind.locks.size, 0);
});

test('a cancelled shutdown ends no further priority, and the node is ready and holds a lock again', async () => {
  const { clock, logind, state, events, killed } = aManager();
  await clock.advance(1000);
  logind.announce(true);
  await clock.advance(1000);
  logind.announce(false);
  assert.equal(state.problem, null);
  await clock.advance(60_000);
  assert.deepEqual(
    killed.map(([, uid]) => uid),
    ['low'],
  );
  assert.equal(logind.locks.size, 1);
  assert.equal(events.at(-1), 'Shutdown: Shutdown manager detected shutdown cancellation');
});

test('a shutdown that is cancelled after the last pod is delayed the next time', async () => {
  const { clock, logind, killed } = aManager();
  await clock.advance(1000);
  logind.announce(true);
  await clock.advance(10_000);
  assert.equal(logind.locks.size, 0);
  logind.announce(false);
  await settle();
  assert.equal(logind.locks.size, 1);
  logind.announce(true);
  await clock.advance(10_000);
  assert.equal(killed.length, 4);
  assert.equal(logind.locks.size, 0);
});

test('a repeated announcement changes nothing', async () => {
  const { clock, logind, killed, events } = aManager();
  await clock.advance(1000);
  logind.announce(true);
  logind.announce(true);
  await clock.advance(10_000);
  assert.equal(killed.length, 2);
  assert.equal(events.length, 1);
});

test('a lost connection is opened again and keeps the lock; no pod ends', async () => {
  const { clock, logind, killed } = aManager();
  await clock.advance(1000);
  logind.connectError = 'ECONNREFUSED';
  logind.loseConnection();
  await clock.advance(5000);
  assert.equal(logind.locks.size, 1);
  logind.connectError = '';
  await clock.advance(30_000);
  assert.equal(logind.sessions, 2);
  assert.equal(logind.locks.size, 1);
  assert.deepEqual(killed, []);
});

test('a shutdown that began while the connection was lost ends the pods', async () => {
  const { clock, logind, killed, state } = aManager();
  await clock.advance(1000);
  logind.isPreparing = true;
  logind.loseConnection();
  await clock.advance(30_000);
  assert.equal(killed.length, 2);
  assert.equal(logind.locks.size, 0);
  logind.isPreparing = false;
  logind.loseConnection();
  await clock.advance(30_000);
  assert.equal(state.problem, null);
  assert.equal(logind.locks.size, 1);
});

test('without logind the log has the reason once, and the manager continues when it appears', async () => {
  const clock = new FakeClock();
  const logind = new FakeLogind();
  logind.connectError = 'connect ENOENT /run/dbus/system_bus_socket';
  const { log } = aManager({ clock, openSession: (onPrepare) => logind.open(onPrepare) });
  await clock.advance(600_000);
  const errors = log.lines.filter(({ level }) => level >= 50);
  assert.deepEqual(
    errors.map(({ err }) => err),
    ['connect ENOENT /run/dbus/system_bus_socket'],
  );
  logind.connectError = '';
  await clock.advance(30_000);
  assert.equal(logind.locks.size, 1);
});

test('a logind that keeps its short delay is still asked to wait', async () => {
  const clock = new FakeClock();
  const logind = new FakeLogind();
  logind.obeys = false;
  const { log } = aManager({ clock, openSession: (onPrepare) => logind.open(onPrepare) });
  await clock.advance(10_000);
  assert.equal(logind.locks.size, 1);
  const errors = log.lines.filter(({ level }) => level >= 50);
  assert.deepEqual(
    errors.map(({ currentMs, wantedMs }) => [currentMs, wantedMs]),
    [[5000, 30_000]],
  );
});

test('a kubelet that stops releases its lock', async () => {
  const { clock, logind, stop, running } = aManager();
  await clock.advance(1000);
  stop.abort();
  await running;
  assert.equal(logind.locks.size, 0);
});
