import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Volume, VolumeMount } from '../../../../../../src/shared/kubernetes/api.ts';
import { validatePath } from '../../../../../../src/workers/pod-sync/pod/volumes/atomic-writer.ts';
import { findPlugin } from '../../../../../../src/workers/pod-sync/pod/volumes/plugins/volume-plugins.ts';
import { toMountPropagation, resolveSubPath } from '../../../../../../src/workers/pod-sync/pod/volumes/mount-options.ts';
import { nestedMountpoints } from '../../../../../../src/workers/pod-sync/pod/volumes/nested-mountpoints.ts';
import { volumeKind, volumesToMount } from '../../../../../../src/shared/kubernetes/volume-kind.ts';
import { aContainer, aPod } from '../../../../../support/pods/pods.ts';
import { table } from '../../../../../support/table.ts';

const mount = (fields: Partial<VolumeMount>): VolumeMount => ({ name: 'v', mountPath: '/v', ...fields });

table('the paths of files in a volume', (row) => {
  for (const [path, want] of [
    ['a', 'a'],
    ['a/b//c/', 'a/b/c'],
    ['./a', 'a'],
    ['..a/b', /must not start with/],
    ['a/..b', 'a/..b'],
    ['', /must not be empty/],
    ['/a', /must be relative/],
    ['a/../b', /must not contain/],
    ['.', /must name a file/],
    ['x'.repeat(256), /filenames must be/],
    ['x/'.repeat(2049), /less than or equal to 4096/],
  ] as const) {
    row(`the path ${path.slice(0, 12)} is ${typeof want === 'string' ? 'accepted' : 'rejected'}`, () => {
      if (typeof want === 'string') assert.equal(validatePath(path), want);
      else assert.throws(() => validatePath(path), want);
    });
  }
});

test('propagation has three modes, and none is the default', () => {
  assert.deepEqual([undefined, 'None', 'HostToContainer', 'Bidirectional'].map(toMountPropagation), [0, 0, 1, 2]);
});

test('a subPathExpr is expanded and a subPath is not', () => {
  const env = [{ name: 'POD', value: 'web' }];
  assert.equal(resolveSubPath(mount({}), env), '');
  assert.equal(resolveSubPath(mount({ subPath: '$(POD)' }), env), '$(POD)');
  assert.equal(resolveSubPath(mount({ subPathExpr: 'logs/$(POD)/$$(POD)' }), env), 'logs/web/$(POD)');
  assert.throws(() => resolveSubPath(mount({ subPathExpr: '$(UP)' }), [{ name: 'UP', value: '../x' }]), /must not contain '..'/);
  const long = [{ name: 'LONG', value: 'x'.repeat(2049) }];
  assert.throws(() => resolveSubPath(mount({ subPathExpr: '$(LONG)$(LONG)' }), long), /SubPath of 4098 characters/);
});

test('a volume has folders for the volumes that are mounted directly within it', () => {
  const at = (name: string, mountPath: string) => ({ name, mountPath });
  const containers = [
    aContainer({
      volumeMounts: [
        at('v', '/dir/'),
        at('a', '/dir/nested'),
        at('b', '/dir/nested/double'),
        at('c', '/dir/nested-vol'),
        at('d', '/dir2/x'),
      ],
    }),
    aContainer({ name: 'other', volumeMounts: [at('v', '/else'), at('a', '/else/x/y')] }),
  ];
  assert.deepEqual(nestedMountpoints(aPod({ spec: { containers } }))('v').sort(), ['nested', 'nested-vol', 'x/y']);
  assert.deepEqual(nestedMountpoints(aPod({ spec: { containers } }))('d'), []);
});

test('the mount points within a volume are found quickly among many mounts', () => {
  const within = Array.from({ length: 12_000 }, (_, index) => mount({ name: 'x', mountPath: `/a/${index}` }));
  const often = Array.from({ length: 12_000 }, (_, index) => mount({ name: 'w', mountPath: `/b/${index}` }));
  const containers = [aContainer({ volumeMounts: [mount({ mountPath: '/a' }), ...within, ...often] })];
  const nested = nestedMountpoints(aPod({ spec: { containers } }));
  assert.equal(nested(mount({}).name).length, within.length);
  assert.deepEqual(nested('w'), []);
});

test('a mount path that leads out of the volume is rejected', () => {
  for (const outer of ['..', '../..'])
    assert.throws(
      () => {
        const volumeMounts = [mount({ mountPath: outer }), mount({ name: 'a', mountPath: '../../../x' })];
        nestedMountpoints(aPod({ spec: { containers: [aContainer({ volumeMounts })] } }))('v');
      },
      { message: `invalid container mount point ${outer}` },
    );
});

test('a volume without a source is an emptyDir, and only mounted volumes are used', () => {
  assert.equal(volumeKind({ name: 'v' }).kind, 'emptyDir');
  assert.equal(volumeKind({ name: 'v', image: { reference: 'r' } }).kind, 'image');
  const volumes: Volume[] = ['a', 'b', 'c', 'd'].map((name) => ({ name }));
  const containers = [aContainer({ volumeMounts: [mount({ name: 'a' })] })];
  const initContainers = [aContainer({ name: 'i', volumeDevices: [{ name: 'c', devicePath: '/dev/x' }] })];
  assert.deepEqual(
    volumesToMount(aPod({ spec: { volumes, containers, initContainers } })).map(({ name }) => name),
    ['a', 'c'],
  );
});

const unsupportedSources = [
  'awsElasticBlockStore',
  'azureDisk',
  'azureFile',
  'cephfs',
  'cinder',
  'fc',
  'flexVolume',
  'flocker',
  'gcePersistentDisk',
  'gitRepo',
  'glusterfs',
  'iscsi',
  'nfs',
  'photonPersistentDisk',
  'portworxVolume',
  'quobyte',
  'rbd',
  'scaleIO',
  'storageos',
  'vsphereVolume',
];
table('a volume that this kubelet cannot mount fails instead of being an empty folder', (row) => {
  for (const source of unsupportedSources)
    row(source, () => {
      const message = `can't use volume plugins for v: this kubelet has none for ${source}`;
      assert.throws(() => findPlugin({ name: 'v', [source]: {} }), { message });
    });
});
