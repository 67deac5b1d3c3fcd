import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Watchdog } from '../../../../src/main/systemd/watchdog.ts';
import { watchdogTimeoutMs } from '../../../../src/main/systemd/watchdog-interval.ts';
import { ServiceNotifier } from '../../../../src/main/systemd/index.ts';
import { createHeartbeats, HeartbeatWriter, ThreadStatusWriter } from '../../../../src/shared/state/heartbeats.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { aLogger, silentLogger } from '../../../support/logger.ts';
import { table } from '../../../support/table.ts';

const pid = 42;
const settings: { name: string; env: Record<string, string>; want: number | null | RegExp }[] = [
  { name: 'is off without WATCHDOG_USEC', env: { WATCHDOG_PID: '42' }, want: null },
  { name: 'is off with an empty WATCHDOG_USEC', env: { WATCHDOG_USEC: '' }, want: null },
  { name: 'is on without WATCHDOG_PID', env: { WATCHDOG_USEC: '30000000' }, want: 30_000 },
  { name: 'is on for this process', env: { WATCHDOG_USEC: '1500000', WATCHDOG_PID: '42' }, want: 1500 },
  { name: 'is off when it is meant for another process', env: { WATCHDOG_USEC: '500000', WATCHDOG_PID: '41' }, want: null },
  {
    name: 'of a second is refused',
    env: { WATCHDOG_USEC: '1000000', WATCHDOG_PID: '42' },
    want: /^configure watchdog timeout too small: 1s$/,
  },
  { name: 'that is no number is refused', env: { WATCHDOG_USEC: '30s' }, want: /^configure watchdog: error converting WATCHDOG_USEC/ },
  { name: 'of nothing is refused', env: { WATCHDOG_USEC: '0' }, want: /WATCHDOG_USEC must be a positive number$/ },
  { name: 'below zero is refused', env: { WATCHDOG_USEC: '-5' }, want: /WATCHDOG_USEC must be a positive number$/ },
  {
    name: 'for a process that is no number is refused',
    env: { WATCHDOG_USEC: '30000000', WATCHDOG_PID: 'me' },
    want: /error converting WATCHDOG_PID/,
  },
];
table('a watchdog', (row) => {
  for (const { name, env, want } of settings) {
    row(name, () => {
      if (want instanceof RegExp) assert.throws(() => watchdogTimeoutMs(env, pid), { message: want });
      else assert.equal(watchdogTimeoutMs(env, pid), want);
    });
  }
});

/** A watchdog of 20 s whose checks and notifications a test lets fail. */
function aWatchdog() {
  const clock = new FakeClock();
  const pings: number[] = [];
  const log = aLogger();
  const state = { fault: '', sendError: '' };
  const watchdog = new Watchdog({
    timeoutMs: 20_000,
    checks: () => [
      { name: 'ping', fault: '', note: '' },
      { name: 'syncloop', fault: state.fault, note: '' },
    ],
    notify: () => {
      if (state.sendError !== '') throw new Error(state.sendError);
      pings.push(clock.monotonic());
    },
    clock,
    logger: log.logger,
  });
  watchdog.start();
  return { clock, pings, log, state, watchdog };
}

test('the watchdog is notified at once, and at half of its time', async () => {
  const { clock, pings } = aWatchdog();
  await clock.advance(25_000);
  assert.deepEqual(pings, [0, 10_000, 20_000]);
});

test('an unhealthy kubelet does not notify the watchdog, and does so within a second when it is healthy again', async () => {
  const { clock, pings, log, state } = aWatchdog();
  state.fault = 'sync Loop took longer than expected';
  await clock.advance(15_500);
  assert.deepEqual(pings, [0]);
  state.fault = '';
  await clock.advance(1000);
  assert.deepEqual(pings, [0, 16_000]);
  assert.deepEqual(
    log.lines.map(({ msg, err }) => [msg, err]),
    [
      [
        'Do not notify watchdog this iteration as the kubelet is reportedly not healthy',
        'checker syncloop failed: sync Loop took longer than expected',
      ],
    ],
  );
});

test('a notification that cannot be sent is sent again', async () => {
  const { clock, pings, log, state } = aWatchdog();
  state.sendError = 'EAGAIN';
  await clock.advance(12_500);
  state.sendError = '';
  await clock.advance(1000);
  assert.deepEqual(pings, [0, 13_000]);
  assert.deepEqual(
    log.lines.map(({ msg }) => msg),
    ['Failed to notify watchdog'],
  );
});

test('a watchdog that was stopped is silent', async () => {
  const { clock, pings, watchdog } = aWatchdog();
  watchdog.stop();
  await clock.advance(60_000);
  assert.deepEqual(pings, [0]);
});

/** A service with a watchdog of 20 s. */
function aService(env: Record<string, string> = { NOTIFY_SOCKET: '/run/systemd/notify', WATCHDOG_USEC: '20000000' }) {
  const clock = new FakeClock();
  const sent: string[] = [];
  const send = (socket: string, state: string) => void sent.push(`${clock.monotonic()} ${socket} ${state}`);
  const service = ServiceNotifier.start({ env, pid, send, clock, logger: silentLogger });
  return { clock, sent, service };
}

test('a service reports its start, its life and its end to the socket of its service manager', async () => {
  const { clock, sent, service } = aService();
  await clock.advance(500);
  service.ready();
  await clock.advance(10_000);
  service.stopping();
  service.close();
  await clock.advance(60_000);
  const socket = '/run/systemd/notify';
  assert.deepEqual(sent, [`0 ${socket} WATCHDOG=1`, `500 ${socket} READY=1`, `10000 ${socket} WATCHDOG=1`, `10500 ${socket} STOPPING=1`]);
});

test('a service reports each request for a reload with its time, and the end of the last one', async () => {
  const { clock, sent, service } = aService({ NOTIFY_SOCKET: '@manager' });
  service.ready();
  service.reloaded();
  service.reloading();
  await clock.advance(2);
  service.reloading();
  service.reloaded();
  assert.deepEqual(sent, [
    '0 @manager READY=1',
    '0 @manager RELOADING=1\nMONOTONIC_USEC=0',
    '2 @manager RELOADING=1\nMONOTONIC_USEC=2000',
    '2 @manager READY=1',
  ]);
});

test('a reload makes a service neither ready before its start, nor again after its end', () => {
  const { sent, service } = aService({ NOTIFY_SOCKET: '@manager' });
  service.reloading();
  service.reloaded();
  assert.deepEqual(sent, []);
  service.ready();
  service.reloading();
  service.stopping();
  service.reloaded();
  assert.deepEqual(sent, ['0 @manager READY=1', '0 @manager RELOADING=1\nMONOTONIC_USEC=0', '0 @manager STOPPING=1']);
});

test('without a service manager nothing is sent', async () => {
  const { clock, sent, service } = aService({});
  service.ready();
  service.stopping();
  await clock.advance(60_000);
  assert.deepEqual(sent, []);
});

test('a socket that is gone does not end the kubelet', () => {
  const refuse = () => {
    throw new Error('ECONNREFUSED');
  };
  const clock = new FakeClock();
  const service = ServiceNotifier.start({ env: { NOTIFY_SOCKET: '@gone' }, pid, send: refuse, clock, logger: silentLogger });
  service.ready();
  service.stopping();
});

test('a kubelet with a watchdog that is not valid does not start', () => {
  const env = { WATCHDOG_USEC: '1000000', NOTIFY_SOCKET: '/run/systemd/notify' };
  assert.throws(() => ServiceNotifier.start({ env, pid, send: () => {}, clock: new FakeClock(), logger: silentLogger }), {
    message: 'create health checker: configure watchdog timeout too small: 1s',
  });
});

test('the watchdog is not notified while a thread has no heartbeat', async () => {
  const { clock, sent, service } = aService();
  const heartbeats = createHeartbeats([{ thread: 'main' }, { thread: 'pleg' }]);
  const statuses = new ThreadStatusWriter(heartbeats);
  const pleg = statuses.rowOf('pleg');
  statuses.started(pleg, 0);
  const writer = new HeartbeatWriter(heartbeats, pleg);
  writer.beat(0, 0);
  service.followThreads(heartbeats);
  await clock.advance(10_000);
  await clock.advance(15_000);
  assert.equal(sent.length, 2, 'at 0 and 10 s; the heartbeat is 20 s old at 20 s');
  writer.beat(clock.monotonic(), 0);
  await clock.advance(1000);
  assert.equal(sent.at(-1), '26000 /run/systemd/notify WATCHDOG=1');
});
