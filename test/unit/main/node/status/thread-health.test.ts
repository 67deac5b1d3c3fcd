import assert from 'node:assert/strict';
import { threadErrors } from '../../../../../src/main/node/status/thread-health.ts';
import type { ThreadHealth } from '../../../../../src/shared/state/heartbeats.ts';
import { table } from '../../../../support/table.ts';

const nowMs = 1_000_000;
const thread = (
  name: string,
  { beatAgoMs = 500, loopAgoMs = 500, ...more }: Partial<ThreadHealth> & { beatAgoMs?: number; loopAgoMs?: number } = {},
): ThreadHealth => ({
  thread: name,
  alive: 1,
  startedAtMs: 1000,
  starts: 1,
  deaths: 0,
  lastExitCode: 0,
  lastError: '',
  loopStaleAfterMs: name === 'pleg' ? 180_000 : 0,
  row: 0,
  beat: { beatAtMs: nowMs - beatAgoMs, eventLoopDelayMs: 0, loopAtMs: nowMs - loopAgoMs, waitsUntilMs: 0 },
  ...more,
});

const cases: { name: string; threads: ThreadHealth[]; want: string[] }[] = [
  {
    name: 'a node with healthy threads has no errors',
    threads: ['main', 'pleg', 'images', 'probes', 'pod-sync-0'].map((name) => thread(name)),
    want: [],
  },
  {
    name: 'a node without recent relists is not ready',
    threads: [thread('pleg', { loopAgoMs: 182_500 })],
    want: ['PLEG is not healthy: pleg was last seen active 3m2.5s ago; threshold is 3m0s'],
  },
  {
    name: 'a node is not ready before the first relist',
    threads: [thread('pleg', { beat: { beatAtMs: nowMs, eventLoopDelayMs: 0, loopAtMs: 0, waitsUntilMs: 0 } })],
    want: ['PLEG is not healthy: pleg has yet to be successful'],
  },
  {
    name: 'a pleg thread that was just restarted leaves the node ready',
    threads: [thread('pleg', { starts: 2, startedAtMs: nowMs - 100, beat: undefined })],
    want: [],
  },
  {
    name: 'a thread that exited a moment ago leaves the node ready',
    threads: [thread('probes', { alive: 0, deaths: 1, beatAgoMs: 3000 })],
    want: [],
  },
  {
    name: 'a thread that does not recover makes the node not ready',
    threads: [thread('probes', { alive: 0, deaths: 9, beatAgoMs: 61_000 })],
    want: ['thread probes is not healthy: last heard of 1m1s ago'],
  },
  {
    name: 'one healthy thread of the sync pool is enough',
    threads: [thread('pod-sync-0', { beatAgoMs: 90_000 }), thread('pod-sync-1')],
    want: [],
  },
  {
    name: 'a sync pool without heartbeats makes the node not ready',
    threads: [
      thread('pod-sync-0', { beatAgoMs: 90_000 }),
      thread('pod-sync-1', { beatAgoMs: 70_000 }),
      thread('pod-sync-2', { starts: 0 }),
    ],
    want: ['thread pod-sync is not healthy: last heard of 1m10s ago'],
  },
  {
    name: 'dead threads without which pods keep running leave the node ready',
    threads: ['server', 'stats', 'images'].map((name) => thread(name, { alive: 0, deaths: 9, beatAgoMs: 900_000 })),
    want: [],
  },
];
table('unhealthy threads make the node not ready', (row) => {
  for (const { name, threads, want } of cases) row(name, () => assert.deepEqual(threadErrors(threads, nowMs), want));
});
