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
    beat: { beatAtMs: now - 500, eventLoopDelayMs: 0, loopAtMs: 0 },
    ...over,
  };
}
const beat = (ageMs: number, loopAgeMs = Infinity) => ({
  beatAtMs: now - ageMs,
  eventLoopDelayMs: 0,
  loopAtMs: loopAgeMs === Infinity ? 0 : now - loopAgeMs,
});
const faults = (threads: ThreadHealth[]) =>
  healthChecks(threads, now, '').flatMap(({ name, fault }) => (fault ? [`${name}: ${fault}`] : []));

const cases: { name: string; threads: ThreadHealth[]; want: string[] }[] = [
  { name: 'all is well while every thread beats', threads: [aThread('main'), aThread('pleg'), aThread('pod-sync-0')], want: [] },
  {
    name: 'a thread that died and is not back yet is named with what it died of',
    threads: [aThread('pleg', { alive: 0, deaths: 1, lastExitCode: 1, lastError: 'out of memory' })],
    want: ['thread-pleg: thread pleg is down, its last exit code was 1: out of memory'],
  },
  {
    name: 'a thread that is silent is named with the time of its silence',
    threads: [aThread('images', { beat: beat(12_000) })],
    want: ['thread-images: thread images has had no heartbeat for 12 s'],
  },
  {
    name: 'a thread that was just started may still be silent',
    threads: [aThread('stats', { startedAtMs: now - 9000, beat: undefined })],
    want: [],
  },
  {
    name: 'a thread that never beat after its start is not well',
    threads: [aThread('stats', { startedAtMs: now - 11_000, beat: undefined })],
    want: ['thread-stats: thread stats has had no heartbeat for 11 s'],
  },
  {
    name: 'a thread that was never started is nobody’s fault',
    threads: [aThread('probes', { starts: 0, alive: 0, beat: undefined })],
    want: [],
  },
  {
    name: 'a sync loop that is stuck is upstream’s syncloop, not the main thread',
    threads: [aThread('main', { loopStaleAfterMs: 300_000, beat: beat(0, 300_001) })],
    want: ['syncloop: sync Loop took longer than expected'],
  },
  {
    name: 'a sync loop that has not begun yet is well',
    threads: [aThread('main', { loopStaleAfterMs: 300_000, beat: beat(0) })],
    want: [],
  },
  {
    name: 'a pleg that does not relist any more is not well',
    threads: [aThread('pleg', { loopStaleAfterMs: 180_000, beat: beat(0, 200_000) })],
    want: ['thread-pleg: pleg was last seen active 200 s ago; threshold is 180 s'],
  },
  {
    name: 'the sync pool is well while a dead thread’s place is taken by another',
    threads: [aThread('pod-sync-0', { alive: 0, deaths: 1 }), aThread('pod-sync-1')],
    want: [],
  },
  {
    name: 'the sync pool is not well without a thread',
    threads: [aThread('pod-sync-0', { alive: 0, deaths: 1 }), aThread('pod-sync-1', { starts: 0, alive: 0 })],
    want: ['thread-pod-sync: thread pod-sync: none of its threads is alive'],
  },
  {
    name: 'the sync pool is not well with a silent thread, and names it',
    threads: [aThread('pod-sync-0'), aThread('pod-sync-1', { beat: beat(15_000) })],
    want: ['thread-pod-sync: thread pod-sync-1 has had no heartbeat for 15 s'],
  },
];
table('whether threads are well', (row) => {
  for (const { name, threads, want } of cases) row(name, () => assert.deepEqual(faults(threads), want));
});

const none = new URLSearchParams();
const well = healthChecks([aThread('main'), aThread('pleg', { deaths: 2, lastExitCode: 7 })], now, '');
const sick = healthChecks([aThread('main'), aThread('pleg', { alive: 0 })], now, '');

test('/healthz says ok, and nothing more unless it is asked', () => {
  assert.deepEqual([replyHealthz('/healthz', none, well).status, replyHealthz('/healthz', none, well).body], [200, 'ok']);
  assert.equal(
    replyHealthz('/healthz', new URLSearchParams('verbose'), well).body,
    '[+]ping ok\n[+]log ok\n[+]syncloop ok\n[+]thread-main ok\n[+]thread-pleg ok (died 2 times, last with exit code 7)\nhealthz check passed\n',
  );
});

test('/healthz is verbose on failure, and names the thread without its reason', () => {
  const { status, body } = replyHealthz('/healthz', none, sick);
  assert.equal(status, 500);
  assert.equal(
    body,
    '[+]ping ok\n[+]log ok\n[+]syncloop ok\n[+]thread-main ok\n[-]thread-pleg failed: reason withheld\nhealthz check failed\n',
  );
});

test('a check may be excluded; one that does not exist is a warning', () => {
  const { status, body } = replyHealthz('/healthz', new URLSearchParams('verbose&exclude=thread-pleg&exclude=etcd&exclude=b'), sick);
  assert.equal(status, 200);
  assert.match(
    body,
    /\[\+\]thread-pleg excluded: ok\nwarn: some health checks cannot be excluded: no matches for "b","etcd"\nhealthz check passed\n$/,
  );
});

test('each check has a path of its own, which gives the reason', () => {
  assert.deepEqual([replyHealthz('/healthz/ping', none, sick).status, replyHealthz('/healthz/ping', none, sick).body], [200, 'ok']);
  const { status, body } = replyHealthz('/healthz/thread-pleg', none, sick);
  assert.equal(status, 500);
  assert.equal(body, 'internal server error: thread pleg is down, its last exit code was 0\n');
  assert.equal(replyHealthz('/healthz/none', none, sick).status, 404);
});

test('a log that can not be written is not well', () => {
  assert.equal(replyHealthz('/healthz/log', none, healthChecks([], now, 'the log can not be written: EBADF')).status, 500);
});

test('the healthz port answers nothing but /healthz', () => {
  assert.equal(replyOnHealthz('/healthz', none, () => well).body, 'ok');
  for (const path of ['/pods', '/metrics', '/configz', '/exec/a/b/c', '/healthzz'])
    assert.equal(replyOnHealthz(path, none, () => well).status, 404);
});
