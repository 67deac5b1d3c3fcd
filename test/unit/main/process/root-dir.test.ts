import assert from 'node:assert/strict';
import { isShared } from '../../../../src/main/process/root-dir.ts';
import { table } from '../../../support/table.ts';

const root = '27 1 254:0 / / rw,relatime - ext4 /dev/vda rw';
const sharedRoot = '27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw';

const cases: { name: string; table: string[]; path: string; want: boolean }[] = [
  { name: 'a folder on a private mount is not shared', table: [root], path: '/var/lib/kubelet', want: false },
  { name: 'a folder on a shared mount is shared', table: [sharedRoot], path: '/var/lib/kubelet', want: true },
  {
    name: 'the deepest mount above the folder decides',
    table: [root, '30 27 254:0 /var /var rw shared:2 - ext4 /dev/vda rw', '31 30 0:5 / /var/lib rw - tmpfs tmpfs rw'],
    path: '/var/lib/kubelet',
    want: false,
  },
  {
    name: 'a folder that is bind-mounted onto itself is shared',
    table: [root, '40 27 254:0 /k /var/lib/kubelet rw shared:9 - ext4 /dev/vda rw'],
    path: '/var/lib/kubelet',
    want: true,
  },
  {
    name: 'the later of two mounts at one place decides',
    table: [root, '40 27 254:0 /k /k rw shared:9 - ext4 /dev/vda rw', '41 40 0:5 / /k rw - tmpfs tmpfs rw'],
    path: '/k',
    want: false,
  },
  {
    name: 'a mount point that is only a prefix of the name does not contain the folder',
    table: [root, '40 27 254:0 /k /k rw shared:9 - ext4 /dev/vda rw'],
    path: '/kube',
    want: false,
  },
];
table('whether a folder’s mount is shared', (row) => {
  for (const { name, table, path, want } of cases) {
    row(name, () => assert.equal(isShared(`${table.join('\n')}\n`, path), want));
  }
});
