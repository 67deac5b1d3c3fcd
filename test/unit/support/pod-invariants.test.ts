/** Each invariant of random pod histories notices its violation, and accepts what is allowed. */
import assert from 'node:assert/strict';
import { findViolations } from '../../support/pod-histories/invariants.ts';
import type { PodHistoryEntry } from '../../support/pod-histories/pod-history.ts';
import { table } from '../../support/table.ts';

type Step = (atMs: number) => PodHistoryEntry;
type RuntimeType = Extract<PodHistoryEntry, { source: 'runtime' }>['type'];

const runtime =
  (type: RuntimeType, containerID: string, graceSeconds?: number): Step =>
  (atMs) => ({
    source: 'runtime',
    type,
    atMs,
    podUID: 'u',
    container: 'app',
    containerID,
    ...(graceSeconds === undefined ? {} : { graceSeconds }),
  });
const deleted =
  (graceSeconds: number): Step =>
  (atMs) => ({ source: 'api', type: 'deleted', atMs, podUID: 'u', graceSeconds });
const status =
  (phase: string, restartCount = 0): Step =>
  (atMs) => {
    const app = { name: 'app', restartCount, image: '', imageID: '', ready: false };
    return { source: 'api', type: 'status', atMs, podUID: 'u', status: { phase, containerStatuses: [app] } };
  };
const probeFailed =
  (containerID: string): Step =>
  (atMs) => ({ source: 'test', type: 'probeFailed', atMs, podUID: 'u', containerID });
const launched: Step = (atMs) => ({ source: 'kubelet', type: 'launched', atMs });
const finished: Step = (atMs) => ({ source: 'api', type: 'finished', atMs, podUID: 'u' });

/** The steps are two seconds apart. */
const cases: readonly { readonly name: string; readonly steps: readonly Step[]; readonly want: RegExp | null }[] = [
  {
    name: 'an ordinary life',
    steps: [
      runtime('started', 'a'),
      status('Running'),
      deleted(5),
      runtime('stopRequested', 'a', 5),
      runtime('ended', 'a'),
      status('Failed'),
      finished,
    ],
    want: null,
  },
  {
    name: 'a second live container',
    steps: [runtime('started', 'a'), runtime('started', 'b')],
    want: /never two live containers.*u\/app started as b while a was alive/,
  },
  { name: 'a restart', steps: [runtime('started', 'a'), runtime('ended', 'a'), runtime('started', 'b')], want: null },
  {
    name: 'a container that another client removed',
    steps: [runtime('started', 'a'), runtime('removed', 'a'), runtime('started', 'b')],
    want: null,
  },
  {
    name: 'a start after the stop of a deleted pod',
    steps: [deleted(5), runtime('stopRequested', 'a', 5), runtime('startRequested', 'b')],
    want: /no start after termination began/,
  },
  {
    name: 'a start by a kubelet that was launched after the deletion',
    steps: [deleted(5), launched, runtime('startRequested', 'b')],
    want: /no start after termination began/,
  },
  {
    name: 'a start after a terminal status',
    steps: [status('Failed'), runtime('startRequested', 'b')],
    want: /started after the pod had ended/,
  },
  {
    name: 'a start after the removal of the object',
    steps: [finished, runtime('startRequested', 'b')],
    want: /started after the pod had ended/,
  },
  {
    name: 'a restart for a failed probe before the kubelet knows of the deletion',
    steps: [deleted(60), probeFailed('a'), runtime('stopRequested', 'a', 5), runtime('startRequested', 'b')],
    want: null,
  },
  {
    name: 'a start after the stop of another container than the one whose probe failed',
    steps: [deleted(60), probeFailed('a'), runtime('stopRequested', 'c', 5), runtime('startRequested', 'b')],
    want: /no start after termination began/,
  },
  { name: 'a start before the kubelet knows of the deletion', steps: [deleted(5), runtime('startRequested', 'b')], want: null },
  {
    name: 'a falling restart count',
    steps: [status('Running', 2), status('Running', 1)],
    want: /restart counts never decrease: u\/app has 1 restarts after 2/,
  },
  {
    name: 'a terminal status that reverts',
    steps: [status('Succeeded'), status('Running')],
    want: /a terminal status never reverts: u is Running after Succeeded/,
  },
  {
    name: 'a grace period longer than the deletion allows',
    steps: [deleted(3), runtime('stopRequested', 'a', 4)],
    want: /grace periods never grow: u\/app gets 4 s after 3 s/,
  },
  {
    name: 'a grace period that grows again',
    steps: [deleted(9), runtime('stopRequested', 'a', 4), runtime('stopRequested', 'a', 6)],
    want: /gets 6 s after 4 s/,
  },
  {
    name: 'another request to stop a container that has ended',
    steps: [deleted(9), runtime('stopRequested', 'a', 4), runtime('ended', 'a'), runtime('stopRequested', 'a', 6)],
    want: null,
  },
  {
    name: 'the whole grace period after a restart of the kubelet',
    steps: [deleted(9), runtime('stopRequested', 'a', 4), launched, runtime('stopRequested', 'a', 9)],
    want: null,
  },
  { name: 'the minimum after a hook has used up the grace period', steps: [deleted(1), runtime('stopRequested', 'a', 2)], want: null },
  {
    name: 'the whole grace period of a pod without object, whose earlier deletion an ended kubelet has seen',
    steps: [deleted(2), deleted(0), launched, runtime('stopRequested', 'a', 5)],
    want: null,
  },
  {
    name: 'the whole grace period of a pod that was deleted by force while a kubelet started',
    steps: [deleted(2), launched, deleted(0), runtime('stopRequested', 'a', 5)],
    want: null,
  },
  {
    name: 'a grace period that a deletion by force makes longer',
    steps: [deleted(3), deleted(0), runtime('stopRequested', 'a', 5)],
    want: /gets 5 s after 3 s/,
  },
  {
    name: 'the grace period of a pod that was deleted, and at once by force',
    steps: [deleted(3), () => deleted(0)(500), runtime('stopRequested', 'a', 5)],
    want: null,
  },
  { name: 'the grace period of a pod that was deleted by force', steps: [deleted(0), runtime('stopRequested', 'a', 30)], want: null },
];

table('histories of a pod are accepted, or violate one invariant', (row) => {
  for (const { name, steps, want } of cases) {
    row(name, () => {
      const violations = findViolations(steps.map((step, index) => step(index * 2000)));
      if (want === null) assert.deepEqual(violations, []);
      else {
        assert.equal(violations.length, 1, violations.join('\n'));
        assert.match(violations[0]!, want);
      }
    });
  }
});
