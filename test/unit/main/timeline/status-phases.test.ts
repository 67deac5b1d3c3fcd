import assert from 'node:assert/strict';
import { PodTimelines, recordStatusPhases } from '../../../../src/main/timeline/index.ts';
import type { ContainerStatus, Pod, PodStatus } from '../../../../src/shared/kubernetes/api.ts';
import { podUID } from '../../../../src/shared/kubernetes/ids.ts';
import { timelineTable } from '../../../../src/shared/timeline/timeline-table.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { aLogger } from '../../../support/logger.ts';
import { table } from '../../../support/table.ts';

const probe = { tcpSocket: { port: 80 } };
const pod: Pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'web', namespace: 'default', uid: 'uid-1' },
  spec: {
    containers: [
      { name: 'app', image: 'busybox', startupProbe: probe, readinessProbe: probe },
      { name: 'plain', image: 'busybox' },
    ],
  },
};

const container = (name: string, over: Partial<ContainerStatus>): ContainerStatus => ({
  name,
  ready: false,
  restartCount: 0,
  image: '',
  imageID: '',
  ...over,
});
const running = { state: { running: { startedAt: '2026-01-01T00:00:00Z' } } };
const exited = { state: { terminated: { exitCode: 1 } } };
const plain = container('plain', { ...running, started: true, ready: true });

interface Case {
  readonly name: string;
  readonly statuses: readonly PodStatus[];
  /** The spans as `Phase container: outcome`. */
  readonly want: readonly string[];
}

const begun: PodStatus = { phase: 'Pending', containerStatuses: [container('app', running), plain] };
const started: PodStatus = { phase: 'Running', containerStatuses: [container('app', { ...running, started: true }), plain] };
const ready: PodStatus = {
  phase: 'Running',
  containerStatuses: [container('app', { ...running, started: true, ready: true }), plain],
  conditions: [{ type: 'Ready', status: 'True' }],
};
const cases: Case[] = [
  { name: 'nothing runs', statuses: [{ phase: 'Pending' }], want: ['Running: open', 'Ready: open'] },
  {
    name: 'a container waits for its startup probe',
    statuses: [begun],
    want: ['Running: ok', 'Ready: open', 'Startup app: open'],
  },
  {
    name: 'a container waits for its readiness probe',
    statuses: [begun, started],
    want: ['Running: ok', 'Ready: open', 'Startup app: ok', 'Readiness app: open'],
  },
  {
    name: 'the pod is ready',
    statuses: [begun, started, ready],
    want: ['Running: ok', 'Ready: ok', 'Startup app: ok', 'Readiness app: ok'],
  },
  {
    name: 'a container exits before its startup probe has succeeded',
    statuses: [begun, { ...begun, containerStatuses: [container('app', exited), plain] }],
    want: ['Running: ok', 'Ready: open', 'Startup app: failed'],
  },
  { name: 'a pod that completes is not running any more', statuses: [{ phase: 'Succeeded' }], want: ['Running: ok', 'Ready: open'] },
];

table('the phases that a pod’s API status shows', (row) => {
  for (const { name, statuses, want } of cases) {
    row(name, () => {
      const timelines = new PodTimelines({ buffer: timelineTable.create(1), clock: new FakeClock(), logger: aLogger().logger });
      timelines.see(pod, false);
      for (const status of statuses) recordStatusPhases(timelines, { pod, status });
      const spans = timelines.get(podUID(pod))?.spans ?? [];
      assert.deepEqual(
        spans.map(({ phase, container: of, outcome }) => `${[phase, of].filter(Boolean).join(' ')}: ${outcome}`),
        want,
      );
    });
  }
});
