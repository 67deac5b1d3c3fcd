/** Sets up emptyDir and hostPath volumes, unmounts all mounts of a pod and removes its folder. Needs root. */
import { podSyncGatesWith } from '../../support/pods/pod-sync-gates.ts';
import assert from 'node:assert/strict';
import { chmod, lstat, mkdir, open, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { PodUID } from '../../../src/shared/kubernetes/ids.ts';
import { readMountsBelow } from '../../../src/shared/linux/mountinfo.ts';
import { mount, MountFlag, unmount } from '../../../src/shared/linux/native.ts';
import { PodVolumes } from '../../../src/workers/pod-sync/pod/volumes/index.ts';
import { ProjectQuotas } from '../../../src/workers/pod-sync/pod/volumes/project-quota/project-quotas.ts';
import { unmountAll, volumesOnDisk } from '../../../src/workers/pod-sync/pod/volumes/teardown.ts';
import { mountedFilesystemAt } from '../../../src/workers/pod-sync/pod/volumes/mounted-filesystem-at.ts';
import { aNode } from '../../support/pods/runtime-config-inputs.ts';
import { makeDeepTree } from '../../support/deep-tree.ts';
import {
  aPodWith,
  helper,
  logger,
  mode,
  mountsOf,
  outside,
  ownerOf,
  rootDir,
  setUp,
  standalone,
  useVolumes,
  volumes,
  volumesWith,
} from '../../support/pods/volumes-suite.ts';

useVolumes();

test('an emptyDir on disk is world-writable, keeps its content on a repeated set-up, and is removed at the end', async () => {
  const fixture = aPodWith([{ name: 'data', emptyDir: {} }]);
  const path = join(fixture.dir, 'volumes/kubernetes.io~empty-dir/data');
  await setUp(fixture);
  assert.equal(await mode(path), 0o777);
  await writeFile(join(path, 'file'), 'kept');
  await chmod(path, 0o700);
  await setUp(fixture);
  assert.equal(await readFile(join(path, 'file'), 'utf8'), 'kept');
  assert.equal(await mode(path), 0o700);
  await volumes.unmountVolumes(fixture.uid);
  assert.deepEqual(await readdir(join(fixture.dir, 'volumes')), []);
  await volumes.removePodDirectory(fixture.uid);
  await assert.rejects(lstat(fixture.dir), { code: 'ENOENT' });
  await volumes.unmountVolumes(fixture.uid);
  await volumes.removePodDirectory(fixture.uid);
});

test('an emptyDir in memory is a tmpfs with the size limit, mounted once, also by a second kubelet', async () => {
  const fixture = aPodWith([{ name: 'mem', emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } }]);
  const path = join(fixture.dir, 'volumes/kubernetes.io~empty-dir/mem');
  await setUp(fixture);
  await writeFile(join(path, 'file'), 'kept');
  await setUp(
    fixture,
    standalone,
    new PodVolumes({ rootDir, clusterDomain: '', featureGates: podSyncGatesWith(), helper, logger, selinuxEnabled: false }),
  );
  const mounts = await readMountsBelow(path);
  assert.deepEqual(
    mounts.map(({ fsType }) => fsType),
    ['tmpfs'],
  );
  assert.ok(mounts[0]?.superOptions.includes('size=1024k'));
  assert.equal(await readFile(join(path, 'file'), 'utf8'), 'kept');
  assert.equal(await mode(path), 0o1777);
  await volumes.unmountVolumes(fixture.uid);
  assert.deepEqual(await readMountsBelow(fixture.dir), []);
});

test('a volume in memory is resized while its files stay, and not below what they take', async () => {
  const volumeOf = (sizeLimit: string) => ({ name: 'mem', emptyDir: { medium: 'Memory', sizeLimit } });
  const fixture = aPodWith([volumeOf('1Mi')]);
  const path = join(fixture.dir, 'volumes/kubernetes.io~empty-dir/mem');
  await setUp(fixture);
  await writeFile(join(path, 'file'), Buffer.alloc(512 * 1024));
  const resize = (sizeLimit: string) =>
    volumes.resizeMemoryVolume({
      pod: { ...fixture.pod, spec: { ...fixture.pod.spec, volumes: [volumeOf(sizeLimit)] } },
      node: aNode,
      volume: 'mem',
    });
  const isSize = async (size: string) => (await readMountsBelow(path))[0]?.superOptions.includes(`size=${size}`);
  await resize('4Mi');
  assert.ok(await isSize('4096k'));
  await assert.rejects(resize('256Ki'), /EINVAL/);
  assert.ok(await isSize('4096k'));
  await resize('768Ki');
  assert.ok(await isSize('768k'));
  assert.deepEqual([(await stat(join(path, 'file'))).size, await mode(path)], [512 * 1024, 0o1777]);
  await volumes.unmountVolumes(fixture.uid);
  await assert.rejects(resize('1Mi'), /is no volume in memory/);
});

test('a memory volume that is no longer mounted, as after a reboot, is mounted again', async () => {
  const fixture = aPodWith([{ name: 'mem', emptyDir: { medium: 'Memory' } }]);
  const path = join(fixture.dir, 'volumes/kubernetes.io~empty-dir/mem');
  await setUp(fixture);
  await unmount(path);
  await setUp(fixture);
  assert.equal((await readMountsBelow(path)).length, 1);
});

test('a volume of a pod with an fsGroup belongs to the group', async () => {
  const fixture = aPodWith([{ name: 'data', emptyDir: {} }], {}, { securityContext: { fsGroup: 4242 } });
  await setUp(fixture);
  const path = join(fixture.dir, 'volumes/kubernetes.io~empty-dir/data');
  assert.deepEqual([(await stat(path)).gid, await mode(path)], [4242, 0o2777]);
});

test('an emptyDir has the mode of its spec with the gate, on disk and in memory, and keeps what the pod changes', async () => {
  const withMode = volumesWith({ EmptyDirVolumeMode: true });
  for (const [medium, own, byDefault] of [
    ['', 0o750, 0o777],
    ['', 0o1777, 0o777],
    ['', 0, 0o777],
    ['Memory', 0o750, 0o1777],
    ['Memory', 0o777, 0o1777],
  ] as const) {
    const fixture = aPodWith([{ name: 'data', emptyDir: { medium, mode: own } }]);
    const path = join(fixture.dir, 'volumes/kubernetes.io~empty-dir/data');
    await setUp(fixture, standalone, withMode);
    assert.equal(await mode(path), own);
    await chmod(path, 0o711);
    await setUp(fixture, standalone, withMode);
    assert.equal(await mode(path), 0o711);
    const other = aPodWith([{ name: 'data', emptyDir: { medium, mode: own } }]);
    await setUp(other);
    assert.equal(await mode(join(other.dir, 'volumes/kubernetes.io~empty-dir/data')), byDefault);
  }
});

test('an emptyDir of huge pages has the mode of its spec with the gate, and is world-writable without', async () => {
  const resources = { requests: { 'hugepages-2Mi': '2Mi' }, limits: { 'hugepages-2Mi': '2Mi' } };
  for (const [gate, want] of [
    [true, 0o1750],
    [false, 0o777],
  ] as const) {
    const volumeMounts = [{ name: 'huge', mountPath: '/huge' }];
    const fixture = aPodWith([{ name: 'huge', emptyDir: { medium: 'HugePages-2Mi', mode: 0o1750 } }], { resources, volumeMounts });
    await setUp(fixture, standalone, volumesWith({ EmptyDirVolumeMode: gate }));
    const path = join(fixture.dir, 'volumes/kubernetes.io~empty-dir/huge');
    assert.equal(await mountedFilesystemAt(path), 'hugetlbfs');
    assert.equal(await mode(path), want);
  }
});

test('an fsGroup adds its bits to the mode of an emptyDir', async () => {
  const fixture = aPodWith([{ name: 'data', emptyDir: { mode: 0o1700 } }], {}, { securityContext: { fsGroup: 4242 } });
  await setUp(fixture, standalone, volumesWith({ EmptyDirVolumeMode: true }));
  assert.equal(await ownerOf(join(fixture.dir, 'volumes/kubernetes.io~empty-dir/data')), '0 4242 3770');
});

test('a volume whose folder is a symlink is not set up, and changes no mode of the host', async () => {
  const fixture = aPodWith([{ name: 'data', emptyDir: { mode: 0o777 } }]);
  await mkdir(join(fixture.dir, 'volumes/kubernetes.io~empty-dir'), { recursive: true });
  await symlink(outside, join(fixture.dir, 'volumes/kubernetes.io~empty-dir/data'));
  const before = await mode(outside);
  await assert.rejects(setUp(fixture, standalone, volumesWith({ EmptyDirVolumeMode: true })), /failed for volume "data" : ENOTDIR/);
  await assert.rejects(setUp(fixture), /failed for volume "data" : ENOTDIR/);
  assert.equal(await mode(outside), before);
});

test('bind mount options are passed to the runtime', async () => {
  const options = ['noexec', 'nosuid'];
  const volumeMounts = [
    { name: 'data', mountPath: '/with', bindMountOptions: options },
    { name: 'data', mountPath: '/without' },
  ];
  const fixture = aPodWith([{ name: 'data', emptyDir: {} }], { volumeMounts });
  await setUp(fixture);
  const mounts = await mountsOf(fixture);
  assert.deepEqual(
    mounts.map(({ mountOptions }) => mountOptions),
    [options, ...mounts.slice(1).map(() => [])],
  );
});

test('huge pages without a request are rejected, and a volume that no container mounts is not set up', async () => {
  await assert.rejects(
    setUp(aPodWith([{ name: 'huge', emptyDir: { medium: 'HugePages' } }])),
    /there is no resource request for huge pages/,
  );
  await setUp(aPodWith([{ name: 'huge', emptyDir: { medium: 'HugePages' } }], { volumeMounts: [] }));
});

test('a hostPath is checked by its type and mounted from its path', async () => {
  const fixture = aPodWith([{ name: 'host', hostPath: { path: join(outside, 'new/dir'), type: 'DirectoryOrCreate' } }]);
  await setUp(fixture);
  const [first] = await mountsOf(fixture);
  assert.equal(first?.hostPath, join(outside, 'new/dir'));
  await assert.rejects(
    setUp(aPodWith([{ name: 'host', hostPath: { path: join(outside, 'precious'), type: 'Directory' } }])),
    /precious is not a directory, it's a File/,
  );
  await assert.rejects(
    setUp(aPodWith([{ name: 'host', hostPath: { path: '/a/../etc' } }])),
    /invalid HostPath `\/a\/\.\.\/etc`: must not contain '\.\.'/,
  );
});

test('a UID that contains a path is rejected, and so is a pod folder that is a symlink', async () => {
  for (const uid of ['..', '../../outside', '']) {
    await assert.rejects(volumes.removePodDirectory(uid as PodUID), /cannot be the name of a folder/);
    await assert.rejects(volumes.unmountVolumes(uid as PodUID), /cannot be the name of a folder/);
  }
  await symlink(outside, join(rootDir, 'pods/linked'));
  await assert.rejects(volumes.removePodDirectory('linked' as PodUID), /is not a folder/);
  assert.equal(await readFile(join(outside, 'precious'), 'utf8'), 'data');
});

test('the mounts below a root dir that is a symlink are found in the mount table', async () => {
  await symlink(rootDir, join(rootDir, '../by-link'));
  const linked = new PodVolumes({
    rootDir: join(rootDir, '../by-link'),
    clusterDomain: '',
    featureGates: podSyncGatesWith(),
    helper,
    logger,
    selinuxEnabled: false,
  });
  const fixture = aPodWith([{ name: 'mem', emptyDir: { medium: 'Memory' } }]);
  for (let times = 0; times < 2; times += 1) await setUp(fixture, standalone, linked);
  assert.equal((await readMountsBelow(fixture.dir)).length, 1);
  await linked.unmountVolumes(fixture.uid);
  await linked.removePodDirectory(fixture.uid);
  await assert.rejects(lstat(fixture.dir), { code: 'ENOENT' });
});

test('mountedFilesystemAt reports only a mount point itself, not a folder in it or a symlink to it', async () => {
  const dir = join(rootDir, 'places');
  await mkdir(join(dir, 'memory'), { recursive: true });
  assert.equal(await mountedFilesystemAt(join(dir, 'memory')), undefined);
  assert.equal(await mountedFilesystemAt(join(dir, 'nowhere')), undefined);
  await mount('tmpfs', join(dir, 'memory'), 'tmpfs', 0, '');
  await mkdir(join(dir, 'memory/below'));
  await symlink('memory', join(dir, 'link'));
  assert.equal(await mountedFilesystemAt(join(dir, 'memory')), 'tmpfs');
  assert.equal(await mountedFilesystemAt(join(dir, 'memory/below')), undefined);
  assert.equal(await mountedFilesystemAt(join(dir, 'link')), undefined);
  assert.equal(await mountedFilesystemAt('/proc'), 'other');
});

test("a pod's folder is not removed while it contains a mount, and the targets of symlinks and mounts are kept", async () => {
  const fixture = aPodWith([{ name: 'data', emptyDir: {} }]);
  await setUp(fixture);
  const data = join(fixture.dir, 'volumes/kubernetes.io~empty-dir/data');
  await symlink(outside, join(data, 'link'));
  const foreign = join(fixture.dir, 'volumes/kubernetes.io~nfs/share');
  await mkdir(foreign, { recursive: true });
  await mount(outside, foreign, '', MountFlag.bind, '');
  await assert.rejects(volumes.removePodDirectory(fixture.uid), /kubernetes\.io~nfs\/share still mounted/);
  assert.equal(await readFile(join(foreign, 'precious'), 'utf8'), 'data');
  assert.deepEqual(await readdir(data), ['link']);
  await volumes.unmountVolumes(fixture.uid);
  await writeFile(join(foreign, 'unknown'), 'perhaps data');
  await assert.rejects(volumes.removePodDirectory(fixture.uid), /unknown is a file where only mount points should be left: not removed/);
  await rm(join(foreign, 'unknown'));
  await volumes.removePodDirectory(fixture.uid);
  await assert.rejects(lstat(fixture.dir), { code: 'ENOENT' });
  assert.equal(await readFile(join(outside, 'precious'), 'utf8'), 'data');
});

test('nested mounts are unmounted deepest first, and a busy one is named while the others are unmounted', async () => {
  const fixture = aPodWith([
    { name: 'mem', emptyDir: { medium: 'Memory' } },
    { name: 'busy', emptyDir: { medium: 'Memory' } },
  ]);
  await setUp(fixture);
  const at = (name: string) => join(fixture.dir, 'volumes/kubernetes.io~empty-dir', name);
  await mkdir(join(at('mem'), 'deeper'));
  await mount('tmpfs', join(at('mem'), 'deeper'), 'tmpfs', 0, '');
  const file = await open(join(at('busy'), 'held'), 'w');
  await assert.rejects(volumes.unmountVolumes(fixture.uid), /busy still mounted: EBUSY/);
  assert.deepEqual(
    (await readMountsBelow(fixture.dir)).map(({ mountPoint }) => mountPoint),
    [at('busy')],
  );
  await file.close();
  await volumes.unmountVolumes(fixture.uid);
  await volumes.removePodDirectory(fixture.uid);
  await assert.rejects(lstat(fixture.dir), { code: 'ENOENT' });
});

test('a tree in an emptyDir that is deeper than any path is removed with the pod', async () => {
  const fixture = aPodWith([{ name: 'data', emptyDir: {} }]);
  await setUp(fixture);
  makeDeepTree(join(fixture.dir, 'volumes/kubernetes.io~empty-dir/data'), 5000);
  await volumes.unmountVolumes(fixture.uid);
  assert.deepEqual(await readdir(join(fixture.dir, 'volumes')), []);
  await volumes.removePodDirectory(fixture.uid);
  await assert.rejects(lstat(fixture.dir), { code: 'ENOENT' });
});

test('a mount that is hidden by another one is unmounted after it, and its source is kept', async () => {
  const fixture = aPodWith([{ name: 'data', emptyDir: {} }]);
  await setUp(fixture);
  const data = join(fixture.dir, 'volumes/kubernetes.io~empty-dir/data');
  await mkdir(join(data, 'b/c'), { recursive: true });
  await mount(outside, join(data, 'b/c'), '', MountFlag.bind, '');
  await mount('tmpfs', join(data, 'b'), 'tmpfs', 0, '');
  await mkdir(join(data, 'b/c'));
  await mount('tmpfs', data, 'tmpfs', 0, '');
  await volumes.unmountVolumes(fixture.uid);
  assert.deepEqual(await readMountsBelow(fixture.dir), []);
  assert.equal(await readFile(join(outside, 'precious'), 'utf8'), 'data');
  await volumes.removePodDirectory(fixture.uid);
  await assert.rejects(lstat(fixture.dir), { code: 'ENOENT' });
  assert.equal(await readFile(join(outside, 'precious'), 'utf8'), 'data');
});

test('a symlink in the path of a hidden mount does not lead to a mount elsewhere', async () => {
  const fixture = aPodWith([{ name: 'data', emptyDir: {} }]);
  await setUp(fixture);
  const data = join(fixture.dir, 'volumes/kubernetes.io~empty-dir/data');
  // The same names exist below the volume and on the host.
  const elsewhere = join(rootDir, '../elsewhere');
  for (const folder of [join(data, 'b/mounted'), join(elsewhere, 'mounted'), join(elsewhere, 'hides')])
    await mkdir(folder, { recursive: true });
  await mount('tmpfs', join(elsewhere, 'mounted'), 'tmpfs', 0, '');
  await symlink(elsewhere, join(elsewhere, 'hides/b'));
  await mount(outside, join(data, 'b/mounted'), '', MountFlag.bind, '');
  await mount(join(elsewhere, 'hides'), data, '', MountFlag.bind, '');
  await volumes.unmountVolumes(fixture.uid);
  assert.deepEqual(await readMountsBelow(fixture.dir), []);
  assert.equal((await readMountsBelow(elsewhere)).length, 1);
  assert.equal(await readFile(join(outside, 'precious'), 'utf8'), 'data');
  await volumes.removePodDirectory(fixture.uid);
});

test('nothing is removed while a mount that hides another one is busy', async () => {
  const fixture = aPodWith([{ name: 'data', emptyDir: {} }]);
  await setUp(fixture);
  const data = join(fixture.dir, 'volumes/kubernetes.io~empty-dir/data');
  await mkdir(join(data, 'b'));
  await writeFile(join(data, 'file'), '');
  await mount(outside, join(data, 'b'), '', MountFlag.bind, '');
  await mount('tmpfs', data, 'tmpfs', 0, '');
  const held = await open(join(data, 'held'), 'w');
  await assert.rejects(volumes.unmountVolumes(fixture.uid), /data\/b, .*\/data still mounted: EBUSY/);
  await assert.rejects(volumes.removePodDirectory(fixture.uid), /data\/b, .*\/data still mounted/);
  assert.equal(await readFile(join(outside, 'precious'), 'utf8'), 'data');
  await held.close();
  await volumes.unmountVolumes(fixture.uid);
  await volumes.removePodDirectory(fixture.uid);
  await assert.rejects(lstat(fixture.dir), { code: 'ENOENT' });
  assert.equal(await readFile(join(outside, 'precious'), 'utf8'), 'data');
});

test('a kind with a teardown of its own ends its mount after the subpaths, and what it leaves mounted is unmounted', async () => {
  const fixture = aPodWith([{ name: 'data', emptyDir: { medium: 'Memory' } }], {
    volumeMounts: [{ name: 'data', mountPath: '/d', subPath: 's' }],
  });
  await setUp(fixture);
  await mountsOf(fixture);
  assert.equal((await readMountsBelow(fixture.dir)).length, 2);
  const projectQuotas = new ProjectQuotas({ enabled: false, logger });
  const unpublishVolume = async () => ({ outcome: 'unpublished' }) as const;
  const context = { rootDir, podUID: fixture.uid, helper, unpublishVolume, projectQuotas, logger, signal: undefined };
  const mountsAtTeardown: string[] = [];
  const unmountItself = async (_: unknown, { path }: { readonly path: string }) => {
    mountsAtTeardown.push(...(await readMountsBelow(fixture.dir)).map(({ mountPoint }) => mountPoint));
    assert.equal(path, mountsAtTeardown[0]);
  };
  const [volume, ...others] = await volumesOnDisk(context);
  assert.deepEqual(others, []);
  await unmountAll(context, [{ ...volume!, teardown: { ...volume!.teardown, unmount: unmountItself } }]);
  assert.equal(mountsAtTeardown.length, 1);
  assert.deepEqual(await readMountsBelow(fixture.dir), []);
});
