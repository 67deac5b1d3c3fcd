/** Which volumes the Node lists as in use, and which of them the API server has acknowledged. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import {
  computeVolumesInUse,
  noLeftMounts,
  type VolumesInUseInputs,
} from '../../../../src/main/volumes/attachments/compute-volumes-in-use.ts';
import { volumeOwner, VolumesInUse } from '../../../../src/main/volumes/attachments/volumes-in-use.ts';
import { uniqueVolumeName } from '../../../../src/shared/kubernetes/attachment-names.ts';
import { settle } from '../../../support/fake-clock.ts';
import { table } from '../../../support/table.ts';

const v1 = uniqueVolumeName('d', 'v1');
const v2 = uniqueVolumeName('d', 'v2');
const disk = 'kubernetes.io/iscsi/disk';
const none: VolumesInUseInputs = {
  listed: { inUse: [], attached: [] },
  onNode: new Map(),
  wanted: [],
  ended: new Set(),
  left: noLeftMounts,
};
const hash = createHash('sha256').update('v1').digest('hex');

table('the volumes in use', (row) => {
  const cases: [name: string, inputs: Partial<VolumesInUseInputs>, want: string[]][] = [
    ['are those that pods want, once and sorted', { wanted: [v2, v1, v2] }, [v1, v2]],
    ['are those on the node that need an attachment', { onNode: new Map([[v1, true], [v2, false]]) }, [v1]], // prettier-ignore
    ['are those on the node that the Node has attached', { onNode: new Map([[v1, false]]), listed: { inUse: [], attached: [v1] } }, [v1]],
    ['are those on the node that are in use already', { onNode: new Map([[v1, false]]), listed: { inUse: [v1], attached: [] } }, [v1]],
    ['are no more those that are not on the node', { listed: { inUse: [v1, disk], attached: [v1] } }, []],
    [
      'are those of another kubelet that are staged',
      { listed: { inUse: [v1, v2], attached: [] }, left: { ...noLeftMounts, staged: new Set([`d/${hash}`]) } },
      [v1],
    ],
    [
      'are all of CSI while any may be mounted',
      { listed: { inUse: [v1, disk], attached: [] }, left: { ...noLeftMounts, csi: true } },
      [v1],
    ],
    [
      'are all of other plugins while any may be mounted',
      { listed: { inUse: [v1, disk], attached: [] }, left: { ...noLeftMounts, other: true } },
      [disk],
    ],
    [
      'are not those that are known to have ended',
      { listed: { inUse: [v1], attached: [] }, ended: new Set([v1]), left: { ...noLeftMounts, csi: true } },
      [],
    ],
  ];
  for (const [name, inputs, want] of cases) row(name, () => assert.deepEqual(computeVolumesInUse({ ...none, ...inputs }), want));
});

const volume = (volumeHandle: string) => ({ driver: 'd', volumeHandle, needsAttachment: true });
const owner = volumeOwner('pod-1', 'pv1');

function aList() {
  const inUse = new VolumesInUse();
  let changes = 0;
  inUse.onChanged(() => (changes += 1));
  return { inUse, list: (listed: readonly string[] = []) => inUse.list({ volumesInUse: listed }, noLeftMounts), changes: () => changes };
}

test('nothing is written before the records are read', () => {
  const { inUse, list } = aList();
  inUse.want(owner, v2);
  assert.equal(list([v1]), null);
  inUse.receive({ type: 'recovered', volumes: [volume('v1')], areRecordsLost: false });
  assert.deepEqual(list([v1]), [v1, v2]);
  assert.equal(inUse.list({ volumesInUse: [v1] }, null), null);
});

test('a volume stays from when a pod wants it until it is unstaged', () => {
  const { inUse, list, changes } = aList();
  inUse.setEmpty();
  inUse.want(owner, v1);
  assert.deepEqual(list(), [v1]);
  inUse.receive({ type: 'added', volume: volume('v1') });
  inUse.release(owner);
  assert.deepEqual(list([v1]), [v1]);
  inUse.receive({ type: 'removed', volume: volume('v1') });
  assert.deepEqual(list([v1]), []);
  assert.equal(changes(), 5);
});

test('a volume whose record is lost keeps all of CSI, except those that have ended', () => {
  const { inUse, list } = aList();
  inUse.receive({ type: 'recovered', volumes: [volume('v2')], areRecordsLost: true });
  assert.deepEqual(list([v1, v2, disk]), [v1, v2]);
  inUse.receive({ type: 'removed', volume: volume('v2') });
  assert.deepEqual(list([v1, v2]), [v1]);
});

test('a volume that a pod wants again is reported only with a status that was computed afterwards', () => {
  const { inUse } = aList();
  inUse.setEmpty();
  inUse.want(owner, v1);
  assert.equal(inUse.isReported(v1), false);
  inUse.reported({ volumesInUse: [v1] });
  assert.equal(inUse.isReported(v1), true);
  inUse.release(owner);
  inUse.want(owner, v1);
  assert.equal(inUse.isReported(v1), false);
  // The status without it was on its way.
  inUse.reported({ volumesInUse: [] });
  assert.equal(inUse.isReported(v1), false);
  inUse.reported({ volumesInUse: [v1] });
  assert.equal(inUse.isReported(v1), true);
});

test('a name that another writer removes is not reported any more, and written again', () => {
  const { inUse, changes } = aList();
  inUse.setEmpty();
  inUse.want(owner, v1);
  inUse.reported({ volumesInUse: [v1] });
  inUse.onNodeChange({ volumesInUse: [v1] });
  assert.deepEqual([inUse.isReported(v1), changes()], [true, 2]);
  inUse.onNodeChange({ volumesInUse: null });
  assert.deepEqual([inUse.isReported(v1), changes()], [false, 3]);
});

test('the wait for volumes that no pod uses ends when they are unstaged and the Node does not list them', async () => {
  const { inUse } = aList();
  const steps: string[] = [];
  const never = new AbortController().signal;
  await inUse.untilUnusedReleased(never);
  inUse.receive({ type: 'recovered', volumes: [volume('v1'), volume('v2')], areRecordsLost: false });
  inUse.reported({ volumesInUse: [v1, v2] });
  // One that a pod uses is not waited for.
  await inUse.untilUnusedReleased(never);
  inUse.receive({ type: 'unused', volume: volume('v1') });
  const released = inUse.untilUnusedReleased(never).then(() => steps.push('released'));
  inUse.receive({ type: 'removed', volume: volume('v1') });
  await settle();
  steps.push('unstaged');
  inUse.reported({ volumesInUse: [v2] });
  await released;
  assert.deepEqual(steps, ['unstaged', 'released']);
  inUse.receive({ type: 'unused', volume: volume('v2') });
  await inUse.untilUnusedReleased(AbortSignal.abort());
  inUse.receive({ type: 'added', volume: volume('v2') });
  await inUse.untilUnusedReleased(never);
});

test('a thread that starts again removes what is gone', () => {
  const { inUse, list } = aList();
  inUse.receive({ type: 'recovered', volumes: [volume('v1'), volume('v2')], areRecordsLost: false });
  inUse.receive({ type: 'recovered', volumes: [volume('v2')], areRecordsLost: false });
  assert.deepEqual(list([v1, v2]), [v2]);
});
