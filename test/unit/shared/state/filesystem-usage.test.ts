import assert from 'node:assert/strict';
import { btrfsDevice } from '../../../../src/shared/state/filesystem-usage.ts';
import { parseMountInfo } from '../../../../src/shared/linux/mountinfo.ts';
import { table } from '../../../support/table.ts';

const mounts = parseMountInfo(
  [
    '0:32 /@ / rw - btrfs /dev/sda2 rw',
    '0:32 /@var /var rw - btrfs /dev/sda2 rw',
    '0:300 /@lib /var/lib/images rw - btrfs /dev/sdb rw',
    '8:17 / /var/data rw - ext4 /dev/sdc1 rw',
    '0:40 / /var/run rw - btrfs /dev/sdd rw',
    '0:41 / /var/run rw - btrfs /dev/sde rw',
  ]
    .map((line, i) => `${i + 1} 0 ${line}`)
    .join('\n'),
);
const rows = [
  { path: '/', want: 32 },
  { path: '/var/lib/kubelet', want: 32 },
  { path: '/varied', want: 32 },
  // The minor number has its higher bits above the major one's.
  { path: '/var/lib/images', want: 44 | (1 << 20) },
  { path: '/var/lib/images/layers', want: 44 | (1 << 20) },
  { path: '/var/run/x', want: 41 },
  { path: '/var/data/x', want: undefined },
];
table('btrfsDevice', (row) => {
  for (const { path, want } of rows) row(path, () => assert.equal(btrfsDevice(mounts, path), want));
});
