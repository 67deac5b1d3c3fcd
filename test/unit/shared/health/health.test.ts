import assert from 'node:assert/strict';
import { test } from 'node:test';
import { healthChecks } from '../../../../src/shared/health/health.ts';
import { replyHealthz, replyOnHealthz } from '../../../../src/shared/health/healthz.ts';
import type { ThreadHealth } from '../../../../src/shared/state/heartbeats.ts';
import { table } from '../../../support/table.ts';

const now = 1_000_000;
function aThread(thread: string, over: Partial<ThreadHealth> = {}): ThreadHealth {
  return {
    row: 0,
    thread,
    alive: 1,
    startedAtMs: now - 60_000,
    starts: 1,
    deaths: 0,
    lastExitCode: 0,
    lastError: '',
    loopStaleAfterMs: 0,
    beat: { beatAtMs: now - 500, eventLoopDelayMs: 0, loopAtMs: 0, waitsUntilMs: 0 },
    ...over,
  };
}
const beat = (ageMs: number, loopAgeMs = Infinity) => ({
  beatAtMs: now - ageMs,
  eventLoopDelayMs: 0,
  loopAtMs: loopAgeMs === Infinity ? 0 : now - loopAgeMs,
  waitsUntilMs: 0,
});
const faults = (threads: ThreadHealth[]) =>
  healthChecks(threads, now, '').flatMap(({ name, fault }) => (fault ? [`${name}: ${fault}`] : []));

const cases: { name: string; threads: ThreadHealth[]; want: string[] }[] = [
  {
    name: 'all checks pass while every thread has a heartbeat',
    threads: [aThread('main'), aThread('pleg'), aThread('pod-sync-0')],
    want: [],
  },
  {
    name: 'a thread that died and is not restarted yet fails with the cause of its death',
    threads: [aThread('pleg', { alive: 0, deaths: 1, lastExitCode: 1, lastError: 'out of memory' })],
    want: ['thread-pleg: thread pleg is down, its last exit code was 1: out of memory'],
  },
  {
    name: 'a thread without a heartbeat fails with the time since its last heartbeat',
    threads: [aThread('images', { beat: beat(12_000) })],
    want: ['thread-images: thread images has had no heartbeat for 12 s'],
  },
  {
    name: 'a thread that was just started passes without a heartbeat',
    threads: [aThread('stats', { startedAtMs: now - 9000, beat: undefined })],
    want: [],
  },
  {
    name: 'a thread without a heartbeat since its start fails',
    threads: [aThread('stats', { startedAtMs: now - 11_000, beat: undefined })],
    want: ['thread-stats: thread stats has had no heartbeat for 11 s'],
  },
  {
    name: 'a thread that was never started passes',
    threads: [aThread('probes', { starts: 0, alive: 0, beat: undefined })],
    want: [],
  },
  {
    name: 'a stuck sync loop fails upstream’s check syncloop, not that of the main thread',
    threads: [aThread('main', { loopStaleAfterMs: 300_000, beat: beat(0, 300_001) })],
    want: ['syncloop: sync Loop took longer than expected'],
  },
  {
    name: 'a sync loop before its first iteration passes',
    threads: [aThread('main', { loopStaleAfterMs: 300_000, beat: beat(0) })],
    want: [],
  },
  {
    name: 'a pleg that has stopped relisting fails',
    threads: [aThread('pleg', { loopStaleAfterMs: 180_000, beat: beat(0, 200_000) })],
    want: ['thread-pleg: pleg was last seen active 200 s ago; threshold is 180 s'],
  },
  {
    name: 'a pleg whose relist waits for the runtime passes',
    threads: [aThread('pleg', { loopStaleAfterMs: 180_000, beat: { ...beat(0, 200_000), waitsUntilMs: now } })],
    want: [],
  },
  {
    name: 'a pleg whose relist waits longer than its calls may take fails',
    threads: [aThread('pleg', { loopStaleAfterMs: 180_000, beat: { ...beat(0, 200_000), waitsUntilMs: now - 1 } })],
    want: ['thread-pleg: pleg was last seen active 200 s ago; threshold is 180 s'],
  },
  {
    name: 'a pleg that waits for the runtime fails without a heartbeat',
    threads: [aThread('pleg', { loopStaleAfterMs: 180_000, beat: { ...beat(11_000), waitsUntilMs: now + 60_000 } })],
    want: ['thread-pleg: thread pleg has had no heartbeat for 11 s'],
  },
  {
    name: 'a pleg that died while it waited for the runtime fails',
    threads: [aThread('pleg', { alive: 0, deaths: 1, lastExitCode: 1, beat: { ...beat(0), waitsUntilMs: now + 60_000 } })],
    want: ['thread-pleg: thread pleg is down, its last exit code was 1'],
  },
  {
    name: 'the sync pool passes when another thread has replaced a dead one',
    threads: [aThread('pod-sync-0', { alive: 0, deaths: 1 }), aThread('pod-sync-1')],
    want: [],
  },
  {
    name: 'the sync pool fails without a thread',
    threads: [aThread('pod-sync-0', { alive: 0, deaths: 1 }), aThread('pod-sync-1', { starts: 0, alive: 0 })],
    want: ['thread-pod-sync: thread pod-sync: none of its threads is alive'],
  },
  {
    name: 'the sync pool fails with the name of a thread without a heartbeat',
    threads: [aThread('pod-sync-0'), aThread('pod-sync-1', { beat: beat(15_000) })],
    want: ['thread-pod-sync: thread pod-sync-1 has had no heartbeat for 15 s'],
  },
];
table('health checks', (row) => {
  for (const { name, threads, want } of cases) row(name, () => assert.deepEqual(faults(threads), want));
});

const none = new URLSearchParams();
const healthy = healthChecks([aThread('main'), aThread('pleg', { deaths: 2, lastExitCode: 7 })], now, '');
const failing = healthChecks([aThread('main'), aThread('pleg', { alive: 0 })], now, '');

test('/healthz replies ok, with more only for a verbose request', () => {
  assert.deepEqual([replyHealthz('/healthz', none, healthy).status, replyHealthz('/healthz', none, healthy).body], [200, 'ok']);
  assert.equal(
    replyHealthz('/healthz', new URLSearchParams('verbose'), healthy).body,
    '[+]ping ok\n[+]log ok\n[+]syncloop ok\n[+]thread-main ok\n[+]thread-pleg ok (died 2 times, last with exit code 7)\nhealthz check passed\n',
  );
});

test('/healthz is verbose on failure, and names the thread without its reason', () => {
  const { status, body } = replyHealthz('/healthz', none, failing);
  assert.equal(status, 500);
  assert.equal(
    body,
    '[+]ping ok\n[+]log ok\n[+]syncloop ok\n[+]thread-main ok\n[-]thread-pleg failed: reason withheld\nhealthz check failed\n',
  );
});

test('a check can be excluded; an unknown one is a warning', () => {
  const { status, body } = replyHealthz('/healthz', new URLSearchParams('verbose&exclude=thread-pleg&exclude=etcd&exclude=b'), failing);
  assert.equal(status, 200);
  assert.match(
    body,
    /\[\+\]thread-pleg excluded: ok\nwarn: some health checks cannot be excluded: no matches for "b","etcd"\nhealthz check passed\n$/,
  );
});

test('each check has its own path, which shows the reason', () => {
  assert.deepEqual([replyHealthz('/healthz/ping', none, failing).status, replyHealthz('/healthz/ping', none, failing).body], [200, 'ok']);
  const { status, body } = replyHealthz('/healthz/thread-pleg', none, failing);
  assert.equal(status, 500);
  assert.equal(body, 'internal server error: thread pleg is down, its last exit code was 0\n');
  assert.equal(replyHealthz('/healthz/none', none, failing).status, 404);
});

test('a log that cannot be written fails', () => {
  assert.equal(replyHealthz('/healthz/log', none, healthChecks([], now, 'the log can not be written: EBADF')).status, 500);
});

test('the healthz port serves only /healthz', () => {
  assert.equal(replyOnHealthz('/healthz', none, () => healthy).body, 'ok');
  for (const path of ['/pods', '/metrics', '/configz', '/exec/a/b/c', '/healthzz'])
    assert.equal(replyOnHealthz(path, none, () => healthy).status, 404);
});
