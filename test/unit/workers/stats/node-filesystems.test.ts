import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseMountInfo } from '../../../../src/shared/linux/mountinfo.ts';
import { maxNodeFilesystems } from '../../../../src/shared/state/node-filesystem-table.ts';
import { parseDiskstats, pickNodeMounts } from '../../../../src/workers/stats/node-filesystems.ts';
import { table } from '../../../support/table.ts';

const rows = [
  { mount: '8:1 / / rw - ext4 /dev/sda1 rw', want: '/dev/sda1 on / is 8:1' },
  { mount: '8:2 / /data rw - xfs /dev/sdb1 rw', want: '/dev/sdb1 on /data is 8:2' },
  { mount: '0:21 / /proc rw - proc proc rw', want: '' },
  { mount: '0:30 / /mnt rw - nfs4 server:/export rw', want: '' },
  { mount: '0:25 / /run rw - tmpfs tmpfs rw', want: '/run on /run is 0:25' },
  { mount: '0:25 / /dev/shm rw - tmpfs tmpfs rw', want: '/dev/shm on /dev/shm is 0:25' },
  { mount: '0:26 / /run/containerd/sandboxes/1/shm rw - tmpfs shm rw', want: '' },
  { mount: '0:27 / /root-dir/pods/1/volumes/token rw - tmpfs tmpfs rw', want: '' },
  { mount: '8:3 / /root-dir/pods/1/volumes/disk rw - ext4 /dev/sdc rw', want: '' },
  { mount: '0:28 / /root-dir/podsy rw - tmpfs tmpfs rw', want: '/root-dir/podsy on /root-dir/podsy is 0:28' },
  { mount: '0:40 / / rw - overlay overlay rw', want: 'overlay_0-40 on / is 0:40' },
  { mount: '0:41 / /run/containerd/1/rootfs rw - overlay overlay rw', want: '' },
  { mount: `8:4 / /long rw - ext4 /dev/${'x'.repeat(256)} rw`, want: '' },
];
const pick = (lines: readonly string[]) =>
  pickNodeMounts(parseMountInfo(lines.map((line, i) => `${i + 1} 0 ${line}`).join('\n')), '/root-dir').map(
    ({ device, mountPoint, deviceNumber }) => `${device} on ${mountPoint} is ${deviceNumber}`,
  );
table('pickNodeMounts', (row) => {
  for (const { mount, want } of rows) row(mount.slice(0, 80), () => assert.equal(pick([mount]).join(), want));
});

test('the first mount of a device counts, and devices come before filesystems in memory', () => {
  const picked = pick(['0:25 / /run rw - tmpfs tmpfs rw', '8:1 / / rw - ext4 /dev/sda1 rw', '8:1 /x /bound rw - ext4 /dev/sda1 rw']);
  assert.deepEqual(picked, ['/dev/sda1 on / is 8:1', '/run on /run is 0:25']);
});

test('the number of filesystems is bounded', () => {
  const mounts = Array.from({ length: 100 }, (_, i) => `8:${i} / /m${i} rw - ext4 /dev/d${i} rw`);
  assert.equal(pick(mounts).length, maxNodeFilesystems);
});

test('the I/O of each device is found by its number; lines that cannot be parsed are ignored', () => {
  const found = parseDiskstats('   8       1 sda1 1 2 3 4 5 6 7 8 9 10 11 12 13\n 8 2 sda2 1 2\n\n 259 0 nvme0n1 1 2 3 4 5 6 7 8 9 x 11\n');
  assert.deepEqual(
    [...found],
    [
      [
        '8:1',
        {
          reads: 1,
          readsMerged: 2,
          sectorsRead: 3,
          readMs: 4,
          writes: 5,
          writesMerged: 6,
          sectorsWritten: 7,
          writeMs: 8,
          ioInProgress: 9,
          ioMs: 10,
          weightedIoMs: 11,
        },
      ],
    ],
  );
});
