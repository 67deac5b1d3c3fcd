import assert from 'node:assert/strict';
import { containersToDelete } from '../../../../../src/main/pods/housekeeping/containers-to-delete.ts';
import type { ContainerID } from '../../../../../src/shared/kubernetes/ids.ts';
import { aRuntimeContainer, aRuntimePodStatus } from '../../../../support/pods/pods.ts';
import { table } from '../../../../support/table.ts';

const id = (name: string) => name as ContainerID;
const status = aRuntimePodStatus({
  containers: [
    aRuntimeContainer({ id: id('app-3'), name: 'app', state: 'running', createdAtMs: 4 }),
    aRuntimeContainer({ id: id('app-1'), name: 'app', state: 'exited', createdAtMs: 2 }),
    aRuntimeContainer({ id: id('app-2'), name: 'app', state: 'exited', createdAtMs: 3 }),
    aRuntimeContainer({ id: id('other-1'), name: 'other', state: 'exited', createdAtMs: 1 }),
    aRuntimeContainer({ id: id('made-1'), name: 'app', state: 'created', createdAtMs: 9 }),
  ],
});

const cases: { name: string; changed: string; keep: number; removeAll?: boolean; want: string[] }[] = [
  {
    name: 'when a container starts, its newest dead instance is kept for its logs and older ones are removed',
    changed: 'app-3',
    keep: 1,
    want: ['app-1'],
  },
  { name: 'when a container dies, the previous instance is kept because the pod’s status names it', changed: 'app-2', keep: 1, want: [] },
  { name: 'when a container dies, older instances are removed', changed: 'app-2', keep: 0, want: ['app-1'] },
  { name: 'dead containers of other names are kept', changed: 'other-1', keep: 0, want: [] },
  { name: 'nothing is removed while the limit is not exceeded', changed: 'app-3', keep: 2, want: [] },
  { name: 'an unknown container removes nothing', changed: 'gone', keep: 0, want: [] },
  {
    name: 'all dead containers of a deleted pod are removed, newest first',
    changed: 'gone',
    keep: 5,
    removeAll: true,
    want: ['app-2', 'app-1', 'other-1'],
  },
];
table('selecting the dead containers to remove', (row) => {
  for (const { name, changed, keep, removeAll = false, want } of cases) {
    row(name, () => assert.deepEqual(containersToDelete(status, id(changed), { maxDeadPerContainer: keep, removeAll }), want));
  }
});
