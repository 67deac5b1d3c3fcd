import assert from 'node:assert/strict';
import { onNodeDisks } from '../../../../../src/workers/stats/storage/node-disks.ts';
import { table } from '../../../../support/table.ts';

const mounts = `1 0 8:1 / / rw - ext4 /dev/sda1 rw
20 1 0:50 / /var/lib/nfs rw - nfs4 server:/ rw
21 1 8:2 /a /var/lib/my\\040disk rw - xfs /dev/sdb rw
22 1 8:1 /var/lib/nfs /mnt rw - ext4 /dev/sda1 rw
23 1 0:51 / /twice rw - xfs /dev/sdc rw
24 23 0:52 / /twice rw - fuse.sshfs host:/ rw
`;

const cases: { readonly path: string; readonly expected: boolean }[] = [
  { path: '/var/lib/kubelet/pods/1/volumes/kubernetes.io~empty-dir/a', expected: true },
  { path: '/var/lib/nfs/snapshots/1/fs', expected: false },
  { path: '/var/lib/nfs-not/snapshots/1/fs', expected: true },
  { path: '/var/lib/my disk/snapshots/1/fs', expected: true },
  { path: '/mnt/snapshots/1/fs', expected: true },
  { path: '/twice/snapshots/1/fs', expected: false },
];
table('a tree is walked in the thread if it is on a disk of the node', (row) => {
  for (const { path, expected } of cases) row(path, () => assert.equal(onNodeDisks(mounts)(path), expected));
  row('nothing is known of the mounts', () => assert.equal(onNodeDisks('')('/a/b/c'), false));
});
