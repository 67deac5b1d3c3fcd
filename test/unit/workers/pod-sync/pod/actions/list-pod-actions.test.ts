import assert from 'node:assert/strict';
import type { SyncPodTask } from '../../../../../../src/shared/contracts/pod-sync/task.ts';
import type { ContainerID, SandboxID } from '../../../../../../src/shared/kubernetes/ids.ts';
import { isResizeOnly, listPodActions } from '../../../../../../src/workers/pod-sync/pod/actions/list-pod-actions.ts';
import type { PodActions } from '../../../../../../src/workers/pod-sync/pod/compute-pod-actions/index.ts';
import { table } from '../../../../../support/table.ts';

const none: PodActions = {
  killPod: false,
  createSandbox: false,
  sandboxID: 's' as SandboxID,
  attempt: 0,
  ephemeralContainersToStart: [],
  initContainersToStart: [],
  containersToStart: [],
  containersToKill: [],
  containersToReset: [],
  hooksToRepeat: [],
  resize: null,
};
/** The types in the table decide by the computed actions alone. */
const task = {} as SyncPodTask;
const kill = { id: 'c' as ContainerID, name: 'c', message: '', reason: '' } as const;
const reset = { id: 'c' as ContainerID, name: 'c', kill: true } as const;
const hook = { id: 'c', container: { name: 'c' } } as unknown as PodActions['hooksToRepeat'][number];
const resize = { containers: [], podLevel: null } as unknown as NonNullable<PodActions['resize']>;

const cases: { name: string; actions: Partial<PodActions>; want: readonly string[] }[] = [
  { name: 'nothing to do', actions: {}, want: [] },
  { name: 'containers are killed in their order', actions: { containersToKill: [kill, kill] }, want: ['KillContainer', 'KillContainer'] },
  {
    name: 'a pod that is killed has no kills of single containers',
    actions: { killPod: true, containersToKill: [kill] },
    want: ['KillPod'],
  },
  { name: 'containers are reset together', actions: { containersToReset: [reset, reset] }, want: ['ResetContainers'] },
  { name: 'a resize follows the kills', actions: { containersToKill: [kill], resize }, want: ['KillContainer', 'Resize'] },
  { name: 'a pod without a sandbox is not resized', actions: { sandboxID: undefined, resize }, want: [] },
  {
    name: 'hooks run again before containers start',
    actions: { hooksToRepeat: [hook], containersToStart: ['c'] },
    want: ['RepeatPostStartHook', 'StartContainers'],
  },
  {
    name: 'a sandbox is made without a container to start',
    actions: { killPod: true, createSandbox: true },
    want: ['KillPod', 'StartContainers'],
  },
  { name: 'a pod that is killed is not resized', actions: { killPod: true, resize }, want: ['KillPod'] },
];

const always = ['PruneInitContainers', 'ResetWaiting'];

table('the list of actions', (row) => {
  for (const { name, actions, want } of cases)
    row(name, () => {
      const types: string[] = listPodActions({ ...none, ...actions }, task).map(({ type }) => type);
      assert.deepEqual(
        types.filter((type) => !always.includes(type)),
        want,
      );
      // Dead init containers are removed between the kills and everything else; the waiting reasons are reset before containers start.
      const isKill = (type: string) => /^(Kill|Reset)/.test(type) && type !== 'ResetWaiting';
      assert.equal(types.indexOf('PruneInitContainers'), types.filter(isKill).length);
      assert.equal(
        types.slice(types.indexOf('ResetWaiting') + 1).some((type) => isKill(type) || type === 'Resize'),
        false,
      );
    });
});

table('a resize alone waits for no volume', (row) => {
  const rows: [name: string, actions: Partial<PodActions>, want: boolean][] = [
    ['a resize', { resize }, true],
    ['nothing to do', {}, false],
    ['a resize beside a kill', { resize, containersToKill: [kill] }, false],
    ['a resize beside a start', { resize, containersToStart: ['c'] }, false],
    ['a resize beside a hook', { resize, hooksToRepeat: [hook] }, false],
  ];
  for (const [name, actions, want] of rows) row(name, () => assert.equal(isResizeOnly({ ...none, ...actions }, task), want));
});
