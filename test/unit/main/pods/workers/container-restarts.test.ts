/** A container that the task in flight stops and starts again is published as it ran, and nothing else is hidden. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ContainerRestarts, hideStops } from '../../../../../src/main/pods/workers/container-restarts.ts';
import type { RuntimeContainerStatus } from '../../../../../src/shared/contracts/runtime-status.ts';
import type { ContainerID } from '../../../../../src/shared/kubernetes/ids.ts';
import { anExitedContainer, aRuntimeContainer, aRuntimePodStatus } from '../../../../support/pods.ts';
import { table } from '../../../../support/table.ts';

const id = (text: string) => text as ContainerID;
const old = aRuntimeContainer({ id: id('old') });
const stopped = anExitedContainer(137, { id: id('old') });
const another = (fields: Partial<RuntimeContainerStatus>) => aRuntimeContainer({ id: id('new'), restartCount: 1, ...fields });
const summary = ({ id: one, state }: RuntimeContainerStatus) => `${one} ${state}`;

const cases: { name: string; seen: RuntimeContainerStatus[]; want: string[] }[] = [
  { name: 'it still runs', seen: [old], want: ['old running'] },
  { name: 'it was stopped', seen: [stopped], want: ['old running'] },
  { name: 'its next instance was created', seen: [another({ state: 'created' }), stopped], want: ['old running'] },
  { name: 'its next instance runs', seen: [another({}), stopped], want: ['new running', 'old exited'] },
  { name: 'its next instance has ended', seen: [another({ state: 'exited' }), stopped], want: ['new exited', 'old exited'] },
  {
    name: 'another container of the pod has ended by itself',
    seen: [stopped, anExitedContainer(1, { id: id('other'), name: 'other' })],
    want: ['old running', 'other exited'],
  },
  {
    name: 'another container of the pod was created',
    seen: [stopped, aRuntimeContainer({ id: id('other'), name: 'other', state: 'created' })],
    want: ['old running', 'other created'],
  },
  { name: 'the runtime has removed it', seen: [], want: [] },
];

table('a container under restart', (row) => {
  for (const { name, seen, want } of cases) {
    const status = aRuntimePodStatus({ containers: seen });
    row(name, () => assert.deepEqual(hideStops(status, new Map([[old.id, old]])).containers.map(summary), want));
  }
});

test('a restart is over when the pod was inspected after its task, and not before', () => {
  const restarts = new ContainerRestarts();
  const status = aRuntimePodStatus({ containers: [stopped] });
  const shown = (seenAtMs: number) => restarts.statusToPublish(status, (ms) => seenAtMs > ms)?.containers.map(summary);
  assert.equal(restarts.begin([old], aRuntimePodStatus({ containers: [old] })), true);
  assert.deepEqual(shown(50), ['old running']);
  restarts.onTaskEnded(100);
  assert.deepEqual(shown(99), ['old running']);
  assert.deepEqual(shown(101), ['old exited']);
});

test('a container that has ended by itself is not restarted', () => {
  const restarts = new ContainerRestarts();
  const status = aRuntimePodStatus({ containers: [anExitedContainer(0, { id: id('old') })] });
  assert.equal(restarts.begin([old], status), false);
  assert.deepEqual(restarts.statusToPublish(status, () => false)?.containers.map(summary), ['old exited']);
});
