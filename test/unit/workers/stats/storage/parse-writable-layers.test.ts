import assert from 'node:assert/strict';
import { parseWritableLayers } from '../../../../../src/workers/stats/storage/parse-writable-layers.ts';
import { table } from '../../../../support/table.ts';

const tasks = '/run/containerd/io.containerd.runtime.v2.task/k8s.io';
const snapshots = '/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots';
const overlay = (point: string, options: string) => `812 29 0:72 / ${point} rw,relatime shared:301 - overlay overlay rw,${options}`;
const layer = `lowerdir=${snapshots}/1/fs,upperdir=${snapshots}/7/fs,workdir=${snapshots}/7/work`;

table('the writable layer of a container', (row) => {
  const cases: { name: string; mounts: string[]; want: Record<string, string> }[] = [
    {
      name: 'is the upper folder of its root file system',
      mounts: [
        '29 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw',
        overlay(`${tasks}/c1/rootfs`, layer),
        overlay(`${tasks}/c2/rootfs`, layer.replaceAll('/7/', '/8/')),
      ],
      want: { c1: `${snapshots}/7/fs`, c2: `${snapshots}/8/fs` },
    },
    { name: 'is unknown for a read-only overlay', mounts: [overlay(`${tasks}/c1/rootfs`, `lowerdir=${snapshots}/1/fs`)], want: {} },
    {
      name: 'is unknown for other file systems',
      mounts: [`812 29 0:72 / ${tasks}/c1/rootfs rw - ext4 /dev/mapper/snap-1 rw,upperdir=/x`],
      want: {},
    },
    { name: 'is not that of another mount', mounts: [overlay('/data/rootfs/volume', layer), overlay('/data/rootfs2', layer)], want: {} },
    {
      name: 'is that of the first mount: a later one may be a container’s',
      mounts: [overlay(`${tasks}/c1/rootfs`, layer), overlay('/var/lib/pod/c1/rootfs', 'upperdir=/')],
      want: { c1: `${snapshots}/7/fs` },
    },
    {
      name: 'is no relative or escaped path',
      mounts: [overlay('/t/a/rootfs', 'upperdir=x'), overlay('/t/b/rootfs', 'upperdir=/a\\040b')],
      want: {},
    },
    { name: 'is not found in nonsense', mounts: ['/rootfs upperdir=/x', ''], want: {} },
  ];
  for (const { name, mounts, want } of cases)
    row(name, () => assert.deepEqual(Object.fromEntries(parseWritableLayers(mounts.join('\n'))), want));
});
