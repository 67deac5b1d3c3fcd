/** Makes a container's mounts from its pod's volumes: volumeMounts, subPaths, the hosts file, environment files. */
import assert from 'node:assert/strict';
import { lstat, readdir, readFile, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { ImageSpec } from '../../../src/shared/cri/generated/cri-v1.ts';
import { readMountsBelow } from '../../../src/shared/linux/mountinfo.ts';
import { makeEnvironment } from '../../../src/workers/pod-sync/pod/runtime-config/index.ts';
import { maxSmallBytes } from '../../../src/workers/pod-sync/pod/large-work.ts';
import { hasContent } from '../../../src/workers/pod-sync/pod/volumes/etc-hosts.ts';
import { aNode, someSettings } from '../../support/pods/runtime-config-inputs.ts';
import { aPodWith, lines, mode, mountsOf, outside, setUp, standalone, useVolumes, volumes } from '../../support/pods/volumes-suite.ts';

useVolumes();

test('the folders of a subPath in a memory volume have the mode of its root, including the sticky bit', async () => {
  const fixture = aPodWith([{ name: 'mem', emptyDir: { medium: 'Memory' } }], {
    volumeMounts: [{ name: 'mem', mountPath: '/mem', subPath: 'a/b' }],
  });
  await setUp(fixture);
  const [mount] = await mountsOf(fixture);
  const path = join(fixture.dir, 'volumes/kubernetes.io~empty-dir/mem');
  assert.deepEqual(await Promise.all([path, join(path, 'a'), mount?.hostPath ?? ''].map(mode)), [0o1777, 0o1777, 0o1777]);
  await volumes.unmountVolumes(fixture.uid);
});

test('a container gets its volumeMounts, the hosts file and a new termination message file', async () => {
  const fixture = aPodWith([{ name: 'data', emptyDir: {} }], {
    terminationMessagePath: '/dev/termination-log',
    volumeMounts: [
      { name: 'data', mountPath: '/data', readOnly: true, mountPropagation: 'HostToContainer' },
      { name: 'data', mountPath: 'relative', subPath: 'a/b' },
      { name: 'data', mountPath: '/expr', subPathExpr: '$(WHO)/logs' },
    ],
  });
  await setUp(fixture);
  const mounts = await mountsOf(fixture, [{ name: 'WHO', value: 'me' }]);
  assert.deepEqual(
    mounts
      .map(({ containerPath, hostPath, readonly, propagation }) => [
        containerPath,
        hostPath.replace(fixture.dir, ''),
        readonly,
        propagation,
      ])
      .slice(0, 4),
    [
      ['/data', '/volumes/kubernetes.io~empty-dir/data', true, 1],
      ['/relative', '/volume-subpaths/data/app/1', false, 0],
      ['/expr', '/volume-subpaths/data/app/2', false, 0],
      ['/etc/hosts', '/etc-hosts', false, 0],
    ],
  );
  assert.match(await readFile(join(fixture.dir, 'etc-hosts'), 'utf8'), /^10\.0\.0\.7\tweb$/m);
  assert.equal(await mode(join(fixture.dir, 'volumes/kubernetes.io~empty-dir/data/me/logs')), 0o777);
  const message = mounts[4];
  assert.match(message?.hostPath ?? '', /\/containers\/app\/[0-9a-f]{8}$/);
  assert.deepEqual([message?.containerPath, await mode(message?.hostPath ?? '')], ['/dev/termination-log', 0o666]);
  const again = await mountsOf(fixture, [{ name: 'WHO', value: 'me' }], { restartCount: 1 });
  assert.notEqual(again[4]?.hostPath, message?.hostPath);
  assert.equal((await readMountsBelow(fixture.dir)).length, 2);
  await volumes.unmountVolumes(fixture.uid);
  await volumes.removePodDirectory(fixture.uid);
  await assert.rejects(lstat(fixture.dir), { code: 'ENOENT' });
});

test('the image of a volume and its subPath are passed to the runtime, which mounts them', async () => {
  const fixture = aPodWith([{ name: 'model', image: { reference: 'registry.example/model:1' } }], {
    volumeMounts: [
      { name: 'model', mountPath: '/model' },
      { name: 'model', mountPath: '/small', subPath: 'a/small' },
    ],
  });
  const image = ImageSpec.fromPartial({ image: 'sha256:1', userSpecifiedImage: 'registry.example/model:1' });
  await setUp(fixture);
  const mounts = await mountsOf(fixture, [], { imageVolumes: new Map([['model', image]]) });
  const fields = mounts.map(({ containerPath, hostPath, readonly, image: mounted, imageSubPath }) => [
    containerPath,
    hostPath,
    readonly,
    mounted,
    imageSubPath,
  ]);
  assert.deepEqual(fields.slice(0, 2), [
    ['/model', '', true, image, ''],
    ['/small', '', true, image, 'a/small'],
  ]);
  assert.deepEqual(await readMountsBelow(fixture.dir), []);
  const escaping = aPodWith([{ name: 'model', image: { reference: 'r' } }], {
    volumeMounts: [{ name: 'model', mountPath: '/model', subPath: '../../etc' }],
  });
  await assert.rejects(mountsOf(escaping, [], { imageVolumes: new Map([['model', image]]) }), /must not contain '\.\.'/);
  await assert.rejects(mountsOf(fixture), /the image of volume "model" was not pulled/);
});

test('a hosts file that is mounted before the IPs are known is filled in place later', async () => {
  const fixture = aPodWith([]);
  await setUp(fixture);
  const path = join(fixture.dir, 'etc-hosts');
  const mounts = await mountsOf(fixture, [], { podIPs: null });
  assert.ok(mounts.some(({ containerPath, hostPath }) => containerPath === '/etc/hosts' && hostPath === path));
  const { ino, size } = await lstat(path);
  assert.equal(size, 0);
  await volumes.writeHostsFile(fixture.pod, ['10.0.0.8']);
  assert.match(await readFile(path, 'utf8'), /^10\.0\.0\.8\tweb$/m);
  await mountsOf(fixture, [], { podIPs: null });
  assert.match(await readFile(path, 'utf8'), /^10\.0\.0\.8\tweb$/m, 'existing content is kept');
  assert.deepEqual([(await lstat(path)).ino, await mode(path)], [ino, 0o644]);
});

test('a hosts file that a container has made long is compared by its start', async () => {
  const fixture = aPodWith([]);
  await setUp(fixture);
  const path = join(fixture.dir, 'etc-hosts');
  await writeFile(path, 'content');
  assert.equal(await hasContent(path, 'content'), true);
  assert.equal(await hasContent(path, 'conten7'), false);
  const gibibyte = 2 ** 30;
  await truncate(path, gibibyte);
  const before = process.resourceUsage().maxRSS;
  assert.equal(await hasContent(path, 'content'), false);
  assert.ok(process.resourceUsage().maxRSS - before < 64 * 1024, 'KiB');
  await rm(path);
  assert.equal(await hasContent(path, 'content'), false);
});

test('a subPath that leads out of the volume is rejected, and only the log has the cause', async () => {
  const fixture = aPodWith([{ name: 'data', emptyDir: {} }], { volumeMounts: [{ name: 'data', mountPath: '/x', subPath: 'way/out' }] });
  await setUp(fixture);
  await symlink(outside, join(fixture.dir, 'volumes/kubernetes.io~empty-dir/data/way'));
  await assert.rejects(mountsOf(fixture), {
    reason: 'CreateContainerConfigError',
    message: 'failed to prepare subPath for volumeMount "data" of container "app"',
  });
  assert.ok(lines.some(({ subPath, err }) => subPath === 'way/out' && /outside of allowed base/.test(String(err))));
  assert.deepEqual(await readdir(outside).then((names) => names.includes('out')), false);
});

for (const [what, volumeMount, message] of [
  ['an unknown volume', { name: 'unknown', mountPath: '/x' }, 'cannot find volume "unknown" to mount into container "app"'],
  ['a subPath from the root', { name: 'data', mountPath: '/x', subPath: '/etc' }, 'error SubPath `/etc` must not be an absolute path'],
  [
    'a subPath that goes up',
    { name: 'data', mountPath: '/x', subPath: 'a/../..' },
    "unable to provision SubPath `a/../..`: must not contain '..'",
  ],
  ['a subPathExpr of empty variables', { name: 'data', mountPath: '/x', subPathExpr: '$(B)$(A)' }, 'missing value for A, B'],
  ['an unknown propagation', { name: 'data', mountPath: '/x', mountPropagation: 'Sideways' }, 'invalid MountPropagation mode: "Sideways"'],
  [
    'recursive read-only that the runtime does not support',
    { name: 'data', mountPath: '/x', readOnly: true, recursiveReadOnly: 'Enabled' },
    'failed to resolve recursive read-only mode: volume "data" requested recursive read-only mode, but it is not supported by the runtime',
  ],
] as const) {
  test(`${what} is rejected with CreateContainerConfigError`, async () => {
    const fixture = aPodWith([{ name: 'data', emptyDir: {} }], { volumeMounts: [{ name: 'data', mountPath: '/data' }, volumeMount] });
    await setUp(fixture);
    await assert.rejects(mountsOf(fixture), { reason: 'CreateContainerConfigError', message });
  });
}

test('an environment file is read only within its volume', async () => {
  const env = [{ name: 'V', valueFrom: { fileKeyRef: { volumeName: 'data', path: 'env', key: 'A' } } }];
  const fixture = aPodWith([{ name: 'data', emptyDir: {} }], { env });
  await setUp(fixture);
  const path = join(fixture.dir, 'volumes/kubernetes.io~empty-dir/data');
  await writeFile(join(path, 'env'), "A='from a file'\n");
  const envFiles = await volumes.readEnvFiles({ ...fixture, maxBytes: maxSmallBytes });
  const [services] = await standalone([{ kind: 'Services', namespace: '', links: true }], Infinity);
  const noObjects = { services: services!, configMaps: new Map(), secrets: new Map() };
  const values = makeEnvironment({
    pod: fixture.pod,
    container: fixture.container,
    node: aNode,
    settings: someSettings,
    podIPs: [],
    envFiles,
    objects: noObjects,
  });
  assert.deepEqual(values, [{ name: 'V', value: 'from a file' }]);
  await rm(join(path, 'env'));
  await symlink(join(outside, 'precious'), join(path, 'env'));
  await assert.rejects(volumes.readEnvFiles({ ...fixture, maxBytes: maxSmallBytes }), /couldn't parse env file: .*not within volume path/);
});

test('thousands of volumes leave the thread to other pods in between', async () => {
  const names = Array.from({ length: 2000 }, (_, index) => `v${index}`);
  const fixture = aPodWith(
    names.map((name) => ({ name, emptyDir: {} })),
    { volumeMounts: names.map((name) => ({ name, mountPath: `/${name}` })) },
  );
  let turns = 0;
  const stop = new AbortController();
  const others = (async () => {
    for (; !stop.signal.aborted; turns += 1) await nextIteration();
  })();
  await setUp(fixture);
  const afterSetUp = turns;
  assert.equal((await mountsOf(fixture)).length, 2001);
  const afterMounts = turns;
  await volumes.unmountVolumes(fixture.uid);
  stop.abort();
  await others;
  assert.ok(afterSetUp > 10 && turns - afterMounts > 2, `${afterSetUp} ${afterMounts} ${turns}`);
});
