import assert from 'node:assert/strict';
import { computeLedger } from '../../../../src/shared/timeline/ledger.ts';
import type { PhaseSpan, PodTimeline } from '../../../../src/shared/timeline/pod-timeline.ts';
import { beginSpan, beginWait, endSpan } from '../../../../src/shared/timeline/span.ts';
import { aTimeline } from '../../../support/pods/pod-timeline.ts';
import { table } from '../../../support/table.ts';

const nowMs = 60_000;

const timeline = (spans: PhaseSpan[], over: Partial<PodTimeline> = {}): PodTimeline =>
  aTimeline(spans, { state: 'Terminating', deletionWantedAtMs: 40_000, ...over });
const open = (phase: PhaseSpan['phase'], atMs: number, more: { container?: string; dueMs?: number } = {}): PhaseSpan => ({
  ...beginSpan(undefined, { atMs, ...more }),
  phase,
  ...(more.container === undefined ? {} : { container: more.container }),
});
const ended = (phase: PhaseSpan['phase'], failed = false, container?: string): PhaseSpan => ({
  ...endSpan(beginSpan(undefined, { atMs: 41_000 }), { atMs: 42_000, failed }),
  phase,
  ...(container === undefined ? {} : { container }),
});
const termination = open('Termination', 40_000, { dueMs: 70_000 });

interface Case {
  readonly name: string;
  readonly timeline: PodTimeline;
  /** Parts of `<kind>: <waitsFor> <forMs> <next>`, one per obstacle. */
  readonly want: readonly RegExp[];
}

const cases: Case[] = [
  { name: 'a running pod waits for nothing', timeline: timeline([], { state: 'Running', deletionWantedAtMs: null }), want: [] },
  {
    name: 'a deletion that has not begun',
    timeline: timeline([open('Sandbox', 39_000)], { state: 'Starting' }),
    want: [/^kubelet: the beginning of its termination, after Sandbox 20000 the kubelet begins/],
  },
  {
    name: 'a preStop hook',
    timeline: timeline([termination, open('PreStop', 41_000, { container: 'web', dueMs: 70_000 })]),
    want: [/^container: container web: its preStop hook 19000 the hook is given up in 10 s; then SIGTERM, and SIGKILL 2.0 s later$/],
  },
  {
    name: 'a container that ignores SIGTERM',
    timeline: timeline([termination, open('Stop', 41_000, { container: 'web', dueMs: 72_000 })]),
    want: [/^container: container web: its exit after SIGTERM 19000 SIGKILL in 12 s$/],
  },
  {
    name: 'a runtime that does not answer after the SIGKILL',
    timeline: timeline([termination, open('Stop', 41_000, { container: 'web', dueMs: 50_000 })]),
    want: [/the runtime was to send SIGKILL/],
  },
  {
    name: 'a sidecar waits for the other containers',
    timeline: timeline([
      termination,
      { ...beginWait(open('Stop', 41_000, { dueMs: 70_000 }), 'OtherContainers', 41_000), phase: 'Stop', container: 'mesh' },
      open('Stop', 41_001, { container: 'web', dueMs: 70_000 }),
    ]),
    want: [/container mesh: containers that must terminate before it.*SIGTERM when they have terminated/, /container web/],
  },
  { name: 'a sandbox', timeline: timeline([termination, open('SandboxStop', 50_000)]), want: [/^sandbox: .*StopPodSandbox 10000/] },
  {
    name: 'a held mount',
    timeline: timeline([termination, ended('VolumeUnmount', true), open('Retry', 58_000, { dueMs: 62_000 })], {
      problem: 'FailedCleanUp: /var/lib/kubelet/pods/u/volumes/x still mounted',
    }),
    want: [/^volume: a retry after: FailedCleanUp: .*x still mounted 20000 the unmount is retried in 2.0 s$/],
  },
  {
    name: 'a sandbox whose retries repeat other steps',
    timeline: timeline([
      termination,
      ended('Stop', false, 'web'),
      {
        ...open('SandboxStop', 55_000),
        ...endSpan(beginSpan(undefined, { atMs: 55_000 }), { atMs: 55_100, failed: true }),
        phase: 'SandboxStop',
        count: 3,
      },
      { ...endSpan(beginSpan(undefined, { atMs: 55_100 }), { atMs: 55_200, failed: false }), phase: 'VolumeUnmount', count: 3 },
      open('Retry', 55_200, { dueMs: 62_000 }),
    ]),
    want: [/^sandbox: a retry after a failure 18000 StopPodSandbox is retried in 2.0 s$/],
  },
  {
    name: 'an inspection after a retry',
    timeline: timeline([
      termination,
      { ...endSpan(beginSpan(undefined, { atMs: 55_200 }), { atMs: 58_000, failed: false }), phase: 'Retry', count: 2 },
      { ...endSpan(beginSpan(undefined, { atMs: 58_000 }), { atMs: 59_000, failed: true }), phase: 'Sync', count: 3 },
    ]),
    want: [/^kubelet: an inspection of the pod in the runtime 20000 /],
  },
  {
    name: 'a container that could not be killed',
    timeline: timeline([termination, ended('Stop', true, 'web'), open('Retry', 58_000, { dueMs: 62_000 })]),
    want: [/^container: container web: a retry after a failure 20000 the kill is retried in 2.0 s$/],
  },
  { name: 'a cgroup', timeline: timeline([termination, open('CgroupRemoval', 59_000)]), want: [/^cgroup: /] },
  {
    name: 'between two steps',
    timeline: timeline([termination, open('Sync', 59_000)]),
    want: [/^kubelet: a task of the sync pool, between two steps 1000/],
  },
  {
    name: 'an API server that refuses the DELETE',
    timeline: timeline([ended('Termination'), open('APIDelete', 50_000, { dueMs: 64_000 })], {
      state: 'Finished',
      finishedAtMs: 50_000,
      problem: 'connection refused',
    }),
    want: [/^api: the API server: DELETE of the pod \(connection refused\) 10000 DELETE is retried in 4.0 s$/],
  },
  {
    name: 'the final status is not written',
    timeline: timeline([ended('Termination'), open('StatusWrite', 50_000)], { state: 'Finished', finishedAtMs: 50_000 }),
    want: [/^api: the API server: the write of the final status/],
  },
  {
    name: 'finalizers',
    timeline: timeline([ended('Termination'), ended('APIDelete')], { state: 'Finished', finishedAtMs: 42_000 }),
    want: [/^api: the API server: finalizers of the pod’s object 18000/],
  },
  {
    name: 'a pod that had terminated before this kubelet started',
    timeline: timeline([], { state: 'Finished', finishedAtMs: 42_000 }),
    want: [/^api: the API server: the end of the pod’s object 18000/],
  },
  {
    name: 'a pod that completed by itself keeps its object',
    timeline: timeline([ended('Termination')], { state: 'Finished', finishedAtMs: 42_000, deletionWantedAtMs: null }),
    want: [],
  },
  {
    name: 'a pod that is gone waits for nothing',
    timeline: timeline([ended('Termination')], { state: 'Finished', finishedAtMs: 42_000, objectGoneAtMs: 43_000 }),
    want: [],
  },
];

table('the termination ledger', (row) => {
  for (const { name, timeline: given, want } of cases) {
    row(name, () => {
      const got = computeLedger(given, nowMs).map(({ kind, waitsFor, forMs, next }) => `${kind}: ${waitsFor} ${forMs} ${next}`);
      assert.equal(got.length, want.length, got.join('\n'));
      for (const [index, pattern] of want.entries()) assert.match(got[index]!, pattern);
    });
  }
});
