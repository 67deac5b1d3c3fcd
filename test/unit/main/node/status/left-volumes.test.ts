import assert from 'node:assert/strict';
import { mayHoldAttachedVolume } from '../../../../../src/main/node/status/left-volumes.ts';
import { table } from '../../../../support/table.ts';

const rootDir = '/var/lib/kubelet';
const cases: { name: string; path: string; fsType?: string; device?: string; want: boolean }[] = [
  { name: 'a CSI volume of a pod', path: 'pods/u1/volumes/kubernetes.io~csi/pvc-1/mount', want: true },
  { name: 'an in-tree volume of a pod', path: 'pods/u1/volumes/kubernetes.io~iscsi/disk', want: true },
  { name: 'a volume of a plugin of another vendor', path: 'pods/u1/volumes/vendor~driver/v', want: true },
  { name: 'a block device of a pod', path: 'pods/u1/volumeDevices/kubernetes.io~csi/pvc-1', want: true },
  { name: 'the staged volume of a CSI driver', path: 'plugins/kubernetes.io/csi/driver/abc/globalmount', want: true },
  { name: 'a token', path: 'pods/u1/volumes/kubernetes.io~projected/token', fsType: 'tmpfs', want: false },
  { name: 'an emptyDir in memory', path: 'pods/u1/volumes/kubernetes.io~empty-dir/cache', fsType: 'tmpfs', want: false },
  { name: 'a subpath of a secret', path: 'pods/u1/volume-subpaths/keys/app/0', fsType: 'tmpfs', want: false },
  { name: 'a subpath of an emptyDir on disk', path: 'pods/u1/volume-subpaths/data/app/0', device: '8:1', want: false },
  { name: 'a subpath of another disk', path: 'pods/u1/volume-subpaths/data/app/0', device: '8:16', want: true },
  { name: 'the root folder itself', path: '', want: false },
  { name: 'another folder', path: 'pod-resources', want: false },
];
table('a mount keeps the volumes that another kubelet has left in use', (row) => {
  for (const { name, path, fsType = 'ext4', device = '8:16', want } of cases) {
    row(`${name}: ${want ? 'yes' : 'no'}`, () => {
      const mountPoint = path === '' ? rootDir : `${rootDir}/${path}`;
      assert.equal(mayHoldAttachedVolume({ mountPoint, fsType, device }, { rootDir, rootDevice: '8:1' }), want);
    });
  }
});
