import assert from 'node:assert/strict';
import { leftMounts } from '../../../../src/main/volumes/attachments/left-mounts.ts';
import { table } from '../../../support/table.ts';

const rootDir = '/var/lib/kubelet';
type Place = 'csi' | 'other' | 'none' | `staged ${string}`;
const cases: { name: string; path: string; fsType?: string; device?: string; want: Place }[] = [
  { name: 'a CSI volume of a pod, which is also staged or recorded', path: 'pods/u1/volumes/kubernetes.io~csi/pvc-1/mount', want: 'none' },
  { name: 'an in-tree volume of a pod', path: 'pods/u1/volumes/kubernetes.io~iscsi/disk', want: 'other' },
  { name: 'a volume of a plugin of another vendor', path: 'pods/u1/volumes/vendor~driver/v', want: 'other' },
  { name: 'a block device of a pod', path: 'pods/u1/volumeDevices/kubernetes.io~csi/pvc-1', want: 'csi' },
  { name: 'a published block device', path: 'plugins/kubernetes.io/csi/volumeDevices/publish/pvc-1/u1', want: 'csi' },
  { name: 'the staged volume of a CSI driver', path: 'plugins/kubernetes.io/csi/driver/abc/globalmount', want: 'staged driver/abc' },
  { name: 'an in-tree volume of the node', path: 'plugins/kubernetes.io/iscsi/iface/lun', want: 'other' },
  { name: 'a token', path: 'pods/u1/volumes/kubernetes.io~projected/token', fsType: 'tmpfs', want: 'none' },
  { name: 'an emptyDir in memory', path: 'pods/u1/volumes/kubernetes.io~empty-dir/cache', fsType: 'tmpfs', want: 'none' },
  { name: 'a subpath of a secret', path: 'pods/u1/volume-subpaths/keys/app/0', fsType: 'tmpfs', want: 'none' },
  { name: 'a subpath of an emptyDir on disk', path: 'pods/u1/volume-subpaths/data/app/0', device: '8:1', want: 'none' },
  { name: 'a subpath of another disk', path: 'pods/u1/volume-subpaths/data/app/0', device: '8:16', want: 'other' },
  { name: 'the root folder itself', path: '', want: 'none' },
  { name: 'another folder', path: 'pod-resources', want: 'none' },
];
table('a mount that an earlier kubelet has left', (row) => {
  for (const { name, path, fsType = 'ext4', device = '8:16', want } of cases) {
    row(`${name}: ${want}`, () => {
      const mountPoint = path === '' ? rootDir : `${rootDir}/${path}`;
      assert.deepEqual(leftMounts([{ mountPoint, fsType, device }], { rootDir, rootDevice: '8:1' }), {
        staged: new Set(want.startsWith('staged ') ? [want.slice('staged '.length)] : []),
        csi: want === 'csi',
        other: want === 'other',
      });
    });
  }
});
