import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { ContainerID, PodUID } from '../../../../src/shared/kubernetes/ids.ts';
import { computePodEvents, containerPlegState, generateEvents, sandboxPlegState } from '../../../../src/workers/pleg/lifecycle-events.ts';
import type { ItemChange, PlegState } from '../../../../src/workers/pleg/lifecycle-events.ts';
import { table } from '../../../support/table.ts';

const podUID = 'pod' as PodUID;
function change(from: PlegState, to: PlegState, exitCode = 3): ItemChange {
  return { podUID, id: 'c' as ContainerID, from, to, exitCode };
}
const types = (events: readonly { readonly type: string }[]) => events.map(({ type }) => type);

suite('the events of one container', () => {
  const cases: { from: PlegState; to: PlegState; want: string[] }[] = [
    { from: 'nonExistent', to: 'nonExistent', want: [] },
    { from: 'nonExistent', to: 'running', want: ['ContainerStarted'] },
    { from: 'nonExistent', to: 'exited', want: ['ContainerDied'] },
    { from: 'nonExistent', to: 'unknown', want: ['ContainerChanged'] },
    { from: 'unknown', to: 'running', want: ['ContainerStarted'] },
    { from: 'unknown', to: 'exited', want: ['ContainerDied'] },
    { from: 'unknown', to: 'unknown', want: [] },
    { from: 'unknown', to: 'nonExistent', want: ['ContainerDied', 'ContainerRemoved'] },
    { from: 'running', to: 'running', want: [] },
    { from: 'running', to: 'exited', want: ['ContainerDied'] },
    { from: 'running', to: 'unknown', want: ['ContainerChanged'] },
    { from: 'running', to: 'nonExistent', want: ['ContainerDied', 'ContainerRemoved'] },
    { from: 'exited', to: 'exited', want: [] },
    { from: 'exited', to: 'running', want: ['ContainerStarted'] },
    { from: 'exited', to: 'unknown', want: ['ContainerChanged'] },
    { from: 'exited', to: 'nonExistent', want: ['ContainerRemoved'] },
  ];
  table('a container’s change generates events', (row) => {
    for (const { from, to, want } of cases) {
      row(`from ${from} to ${to}:  ${want.join(', ') || 'none'}`, () => {
        assert.deepEqual(types(generateEvents(change(from, to))), want);
      });
    }
  });

  test('a death carries pod, container and exit code', () => {
    assert.deepEqual(generateEvents(change('running', 'exited')), [{ type: 'ContainerDied', podUID, containerID: 'c', exitCode: 3 }]);
  });
});

suite('the events of one pod', () => {
  const cases: { name: string; changes: ItemChange[]; reinspected: boolean; want: string[] }[] = [
    { name: 'nothing changed', changes: [change('running', 'running')], reinspected: false, want: [] },
    { name: 'nothing changed after a failed inspection', changes: [change('running', 'running')], reinspected: true, want: ['PodSync'] },
    { name: 'a death after a failed inspection', changes: [change('running', 'exited')], reinspected: true, want: ['ContainerDied'] },
    {
      name: 'a start after a failed inspection',
      changes: [change('unknown', 'running')],
      reinspected: true,
      want: ['ContainerStarted', 'PodSync'],
    },
    {
      name: 'a removal after a failed inspection',
      changes: [change('exited', 'nonExistent')],
      reinspected: true,
      want: ['ContainerRemoved', 'PodSync'],
    },
    { name: 'a ContainerChanged after a failed inspection', changes: [change('running', 'unknown')], reinspected: true, want: ['PodSync'] },
    { name: 'a ContainerChanged, which is not sent', changes: [change('running', 'unknown')], reinspected: false, want: [] },
    {
      name: 'a sandbox and its container are removed',
      changes: [change('running', 'nonExistent'), change('exited', 'nonExistent')],
      reinspected: false,
      want: ['ContainerDied', 'ContainerRemoved', 'ContainerRemoved'],
    },
  ];
  table('a pod’s changes generate events', (row) => {
    for (const { name, changes, reinspected, want } of cases) {
      row(name, () => assert.deepEqual(types(computePodEvents(podUID, changes, reinspected)), want));
    }
  });
});

test('CRI states convert to PLEG states, unrecognized numbers to unknown', () => {
  assert.deepEqual([0, 1, 2, 3, 4, -1].map(containerPlegState), ['unknown', 'running', 'exited', 'unknown', 'unknown', 'unknown']);
  assert.deepEqual([0, 1, 2, -1].map(sandboxPlegState), ['running', 'exited', 'unknown', 'unknown']);
});
