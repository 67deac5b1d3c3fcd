/** The published status shows a container that the task restarts in its running state, and hides nothing else. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ContainerRestarts, hideStops } from '../../../../../src/main/pods/workers/container-restarts.ts';
import type { RuntimeContainerStatus } from '../../../../../src/shared/contracts/runtime-status.ts';
import type { ContainerID } from '../../../../../src/shared/kubernetes/ids.ts';
import { anExitedContainer, aRuntimeContainer, aRuntimePodStatus } from '../../../../support/pods/pods.ts';
import { table } from '../../../../support/table.ts';

const id = (text: string) => text as ContainerID;
const old = aRuntimeContainer({ id: id('old') });
const stopped = anExitedContainer(137, { id: id('old') });
const another = (fields: Partial<RuntimeContainerStatus>) => aRuntimeContainer({ id: id('new'), restartCount: 1, ...fields });
const summary = ({ id: one, state }: RuntimeContainerStatus) => `${one} ${state}`;

const cases: { name: string; observed: RuntimeContainerStatus[]; want: string[] }[] = [
  { name: 'that still runs is running', observed: [old], want: ['old running'] },
  { name: 'that was stopped is running', observed: [stopped], want: ['old running'] },
  { name: 'whose next instance was created is running', observed: [another({ state: 'created' }), stopped], want: ['old running'] },
  { name: 'whose next instance runs has a new instance', observed: [another({}), stopped], want: ['new running', 'old exited'] },
  {
    name: 'whose next instance has exited has both exits',
    observed: [another({ state: 'exited' }), stopped],
    want: ['new exited', 'old exited'],
  },
  {
    name: 'does not hide the exit of another container',
    observed: [stopped, anExitedContainer(1, { id: id('other'), name: 'other' })],
    want: ['old running', 'other exited'],
  },
  {
    name: 'does not hide the creation of another container',
    observed: [stopped, aRuntimeContainer({ id: id('other'), name: 'other', state: 'created' })],
    want: ['old running', 'other created'],
  },
  { name: 'that the runtime has removed is absent', observed: [], want: [] },
];

table('a restarted container', (row) => {
  for (const { name, observed, want } of cases) {
    const status = aRuntimePodStatus({ containers: observed });
    row(name, () => assert.deepEqual(hideStops(status, new Map([[old.id, old]])).containers.map(summary), want));
  }
});

test('a restart ends with the inspection after its task', () => {
  const restarts = new ContainerRestarts();
  const status = aRuntimePodStatus({ containers: [stopped] });
  const published = (observedAtMs: number) => restarts.statusToPublish(status, (ms) => observedAtMs > ms)?.containers.map(summary);
  assert.equal(restarts.begin([old], aRuntimePodStatus({ containers: [old] })), true);
  assert.deepEqual(published(50), ['old running']);
  restarts.onTaskEnded(100);
  assert.deepEqual(published(99), ['old running']);
  assert.deepEqual(published(101), ['old exited']);
});

test('a container that has exited by itself is not restarted', () => {
  const restarts = new ContainerRestarts();
  const status = aRuntimePodStatus({ containers: [anExitedContainer(0, { id: id('old') })] });
  assert.equal(restarts.begin([old], status), false);
  assert.deepEqual(restarts.statusToPublish(status, () => false)?.containers.map(summary), ['old exited']);
});
