/** Sets up volumes whose files the kubelet writes: downwardAPI, secret, configMap, projected. Needs root. */
import { podSyncGatesWith } from '../../support/pods/pod-sync-gates.ts';
import assert from 'node:assert/strict';
import { lstat, readdir, readFile, readlink, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { PodObjectResult } from '../../../src/shared/contracts/pod-objects.ts';
import type { Volume } from '../../../src/shared/kubernetes/api.ts';
import { readMountsBelow } from '../../../src/shared/linux/mountinfo.ts';
import { LargeWorkError, LargeWorkLimiter } from '../../../src/workers/pod-sync/pod/large-work.ts';
import { type RequestPodObjects, PodVolumes } from '../../../src/workers/pod-sync/pod/volumes/index.ts';
import {
  aPodWith,
  configMap,
  helper,
  logger,
  mode,
  mountsOf,
  ownerOf,
  rootDir,
  secret,
  serverWith,
  setUp,
  useVolumes,
  volumes,
  volumesWith,
} from '../../support/pods/volumes-suite.ts';

useVolumes();

test("downward API files have upstream's layout and are updated when the pod changes", async () => {
  const items = [
    { path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } },
    { path: 'deep/cpu', mode: 0o400, resourceFieldRef: { containerName: 'app', resource: 'limits.cpu', divisor: '1m' } },
  ];
  const fixture = aPodWith([{ name: 'info', downwardAPI: { defaultMode: 0o644, items } }], {}, { securityContext: { fsGroup: 77 } });
  const path = join(fixture.dir, 'volumes/kubernetes.io~downward-api/info');
  await setUp(fixture);
  assert.equal(await readFile(join(path, 'labels'), 'utf8'), 'app="web"');
  assert.equal(await readFile(join(path, 'deep/cpu'), 'utf8'), '3500');
  assert.equal(await readlink(join(path, 'labels')), '..data/labels');
  assert.equal(await readlink(join(path, 'deep')), '..data/deep');
  const first = await readlink(join(path, '..data'));
  assert.match(first, /^\.\.\d{4}_\d\d_\d\d_\d\d_\d\d_\d\d\./);
  assert.deepEqual([(await stat(join(path, 'deep/cpu'))).gid, await mode(join(path, 'deep/cpu'))], [77, 0o440]);
  assert.deepEqual(
    (await readMountsBelow(path)).map(({ fsType }) => fsType),
    ['tmpfs'],
  );
  await setUp(fixture);
  assert.equal(await readlink(join(path, '..data')), first);
  const labelled = { ...fixture.pod, metadata: { ...fixture.pod.metadata, labels: { app: 'other' } } };
  const fewer = { ...labelled.spec, volumes: [{ name: 'info', downwardAPI: { items: items.slice(0, 1) } }] };
  await setUp({ pod: { ...labelled, spec: fewer } });
  assert.equal(await readFile(join(path, 'labels'), 'utf8'), 'app="other"');
  assert.notEqual(await readlink(join(path, '..data')), first);
  const left = await readdir(path);
  assert.deepEqual(left.filter((name) => !/^\.\.\d/.test(name)).sort(), ['..data', 'labels']);
  assert.equal(left.length, 3);
  assert.equal((await mountsOf(fixture)).find(({ containerPath }) => containerPath === '/info')?.readonly, true);
});

test('a standalone kubelet sets up downward API files, and reports volumes that need the API server', async () => {
  const own = { downwardAPI: { items: [{ path: 'name', fieldRef: { fieldPath: 'metadata.name' } }] } };
  const fixture = aPodWith([{ name: 'all', projected: { sources: [own] } }]);
  await setUp(fixture);
  assert.equal(await readFile(join(fixture.dir, 'volumes/kubernetes.io~projected/all/name'), 'utf8'), 'web');
  const failing = aPodWith([
    { name: 'token', projected: { sources: [own, { serviceAccountToken: { path: 'token' } }] } },
    { name: 'conf', configMap: { name: 'cm' } },
    { name: 'share', nfs: { server: 's', path: '/' } },
    { name: 'fine', emptyDir: {} },
    { name: 'odd', emptyDir: { medium: 'Punchcards' } },
  ]);
  await assert.rejects(setUp(failing), (err: Error) => {
    for (const part of [
      /^missing: MountVolume.SetUp failed for volume "token" : cannot setup projected serviceAccountToken volume token because kube client is not configured/m,
      /failed for volume "conf" : cannot setup configMap volume conf because kube client is not configured/,
      /^unknown: can't use volume plugins for share: this kubelet has none for nfs/m,
      /failed for volume "odd" : unknown storage medium "Punchcards"/,
    ])
      assert.match(err.message, part);
    assert.doesNotMatch(err.message, /"fine"/);
    return true;
  });
});

test('a secret is in memory and a config map on disk, with the modes of their volumes', async () => {
  const fixture = aPodWith([
    { name: 'sec', secret: { secretName: 's', defaultMode: 0o400 } },
    {
      name: 'conf',
      configMap: {
        name: 'cm',
        items: [
          { key: 'a', path: 'deep/er/a', mode: 0o755 },
          { key: 'bin', path: 'bin' },
        ],
      },
    },
    { name: 'none', secret: { secretName: 'gone', optional: true } },
  ]);
  const server = serverWith({
    'Secret s': secret({ user: 'me', password: 'geheim' }),
    'ConfigMap cm': configMap({ a: 'text', b: 'left out' }, { bin: '/wA=' }),
  });
  await setUp(fixture, server);
  const sec = join(fixture.dir, 'volumes/kubernetes.io~secret/sec');
  const conf = join(fixture.dir, 'volumes/kubernetes.io~configmap/conf');
  assert.deepEqual([await readFile(join(sec, 'password'), 'utf8'), await mode(join(sec, 'password'))], ['geheim', 0o400]);
  assert.deepEqual([await readFile(join(conf, 'deep/er/a'), 'utf8'), await mode(join(conf, 'deep/er/a'))], ['text', 0o755]);
  assert.deepEqual([...(await readFile(join(conf, 'bin')))], [255, 0]);
  assert.deepEqual((await readdir(conf)).filter((name) => !name.startsWith('..')).sort(), ['bin', 'deep']);
  assert.deepEqual((await readMountsBelow(fixture.dir)).map(({ mountPoint, fsType }) => `${fsType} ${mountPoint}`).sort(), [
    `tmpfs ${join(fixture.dir, 'volumes/kubernetes.io~secret/none')}`,
    `tmpfs ${sec}`,
  ]);
  assert.deepEqual(
    (await readdir(join(fixture.dir, 'volumes/kubernetes.io~secret/none'))).filter((name) => !name.startsWith('..')),
    [],
  );
  assert.deepEqual(
    (await mountsOf(fixture)).slice(0, 3).map(({ readonly }) => readonly),
    [true, true, true],
  );
  await volumes.unmountVolumes(fixture.uid);
  assert.deepEqual(await readdir(join(fixture.dir, 'volumes')), []);
  await volumes.removePodDirectory(fixture.uid);
});

test('files are updated when their object changes, and unchanged files are not written again', async () => {
  const fixture = aPodWith([{ name: 'conf', configMap: { name: 'cm' } }]);
  const path = join(fixture.dir, 'volumes/kubernetes.io~configmap/conf');
  await setUp(fixture, serverWith({ 'ConfigMap cm': configMap({ a: '1', b: 'x' }) }));
  const first = await readlink(join(path, '..data'));
  await setUp(
    fixture,
    serverWith({ 'ConfigMap cm': configMap({ b: 'x', a: '1' }) }),
    new PodVolumes({ rootDir, clusterDomain: '', featureGates: podSyncGatesWith(), helper, logger, selinuxEnabled: false }),
  );
  assert.equal(await readlink(join(path, '..data')), first);
  await setUp(fixture, serverWith({ 'ConfigMap cm': configMap({ a: '2' }) }));
  assert.equal(await readFile(join(path, 'a'), 'utf8'), '2');
  assert.deepEqual(
    (await readdir(path)).filter((name) => !name.startsWith('..')),
    ['a'],
  );
});

test('a volume without its object is missing at first, and outdated after it was set up once', async () => {
  const fixture = aPodWith([{ name: 'sec', secret: { secretName: 's' } }]);
  await assert.rejects(setUp(fixture, serverWith({})), /^Error: missing: MountVolume.SetUp failed for volume "sec" : Secret s not found$/);
  assert.deepEqual(await readMountsBelow(fixture.dir), []);
  await setUp(fixture, serverWith({ 'Secret s': secret({ a: 'kept' }) }));
  await assert.rejects(setUp(fixture, serverWith({})), /^Error: outdated: /);
  assert.equal(await readFile(join(fixture.dir, 'volumes/kubernetes.io~secret/sec/a'), 'utf8'), 'kept');
  const withKey = aPodWith([{ name: 'sec', secret: { secretName: 's', items: [{ key: 'k', path: 'k' }] } }]);
  await assert.rejects(setUp(withKey, serverWith({ 'Secret s': secret({}) })), /: references non-existent secret key: k$/);
});

test('a projected volume has the files of all its sources, and the last source of a path wins', async () => {
  const projected: Volume['projected'] = {
    defaultMode: 0o644,
    sources: [
      { serviceAccountToken: { path: 'token', expirationSeconds: 3607 } },
      { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
      { secret: { name: 's', items: [{ key: 'a', path: 'dir/a' }] } },
      { downwardAPI: { items: [{ path: 'namespace', fieldRef: { fieldPath: 'metadata.namespace' } }] } },
      { clusterTrustBundle: { name: 'bundle', path: 'trust.pem' } },
      { secret: { name: 's', items: [{ key: 'b', path: 'dir/a' }] } },
      { secret: { name: 'gone', optional: true } },
    ],
  };
  const server = serverWith({
    Token: { kind: 'Token', token: 'jwt' },
    'ConfigMap kube-root-ca.crt': configMap({ 'ca.crt': 'CA' }),
    'Secret s': secret({ a: 'first', b: 'last' }),
    'TrustBundle bundle': { kind: 'TrustAnchors', pem: 'PEM' },
  });
  const fixture = aPodWith([{ name: 'all', projected }]);
  await setUp(fixture, server);
  const at = (name: string) => join(fixture.dir, 'volumes/kubernetes.io~projected/all', name);
  const contents = ['token', 'ca.crt', 'dir/a', 'namespace', 'trust.pem'].map((name) => readFile(at(name), 'utf8'));
  assert.deepEqual(await Promise.all(contents), ['jwt', 'CA', 'last', 'default', 'PEM']);
  assert.equal(await mode(at('token')), 0o644);
  const failing = aPodWith([{ name: 'all', projected: { sources: [{ secret: { name: 'x' } }, { configMap: { name: 'y' } }] } }]);
  await assert.rejects(setUp(failing, server), /failed for volume "all" : \[Secret x not found, ConfigMap y not found\]$/);
});

test('a pod certificate is written as one file, as two files, or both', async () => {
  const source = { signerName: 'example.com/s', keyType: 'ED25519' };
  const sources = [
    { podCertificate: { ...source, credentialBundlePath: 'bundle.pem' } },
    { podCertificate: { ...source, keyPath: 'tls/key.pem', certificateChainPath: 'tls/chain.pem' } },
  ];
  const fixture = aPodWith([{ name: 'id', projected: { sources } }], {}, { securityContext: { runAsUser: 1000 } });
  const server: RequestPodObjects = async (refs) => {
    assert.deepEqual(
      refs,
      [0, 1].map((sourceIndex) => ({ kind: 'PodCertificate', volume: 'id', sourceIndex })),
    );
    return refs.map((_, n) => ({ outcome: 'value', value: { kind: 'Credentials', keyPEM: `key-${n}\n`, chainPEM: `chain-${n}\n` } }));
  };
  await setUp(fixture, server);
  const at = (name: string) => join(fixture.dir, 'volumes/kubernetes.io~projected/id', name);
  const contents = ['bundle.pem', 'tls/key.pem', 'tls/chain.pem'].map((name) => readFile(at(name), 'utf8'));
  assert.deepEqual(await Promise.all(contents), ['key-0\nchain-0\n', 'key-1\n', 'chain-1\n']);
  assert.deepEqual([(await stat(at('bundle.pem'))).uid, await mode(at('bundle.pem'))], [1000, 0o600]);
  const refusing: RequestPodObjects = async (refs) =>
    refs.map(() => ({ outcome: 'failed', failure: { reason: 'NotIssued', message: 'credential bundle is not issued yet' } }));
  const waiting = aPodWith([{ name: 'id', projected: { sources } }]);
  await assert.rejects(setUp(waiting, refusing), /failed for volume "id" : credential bundle is not issued yet$/);
});

test('a token that is in the volume already is sent to main, which may keep it', async () => {
  const fixture = aPodWith([{ name: 't', projected: { sources: [{ serviceAccountToken: { path: 'deep/token' } }] } }]);
  const sentTokens: (string | undefined)[] = [];
  const server: RequestPodObjects = async (refs) =>
    refs.map((ref): PodObjectResult => {
      assert.ok(ref.kind === 'Token');
      sentTokens.push(ref.onDisk);
      return { outcome: 'value', value: { kind: 'Token', token: ref.onDisk ?? 'new' } };
    });
  await setUp(fixture, server);
  const data = join(fixture.dir, 'volumes/kubernetes.io~projected/t/..data');
  const first = await readlink(data);
  await setUp(fixture, server);
  assert.deepEqual(sentTokens, [undefined, 'new']);
  assert.equal(await readlink(data), first);
});

for (const [who, spec, want] of [
  ['root when no other user is specified', { securityContext: {} }, [0, 0, 0o644]],
  ['the user that all containers run as', { securityContext: { runAsUser: 1000 } }, [1000, 0, 0o600]],
  ['the fsGroup', { securityContext: { fsGroup: 2000 } }, [0, 2000, 0o640]],
  ['both', { securityContext: { runAsUser: 1000, fsGroup: 2000 } }, [1000, 2000, 0o640]],
] as const) {
  test(`a token may be read by ${who}`, async () => {
    const source = { sources: [{ serviceAccountToken: { path: 'token' } }] };
    const fixture = aPodWith([{ name: 't', projected: source }], {}, spec);
    await setUp(fixture, serverWith({ Token: { kind: 'Token', token: 'jwt' } }));
    const { uid, gid } = await stat(join(fixture.dir, 'volumes/kubernetes.io~projected/t/token'));
    assert.deepEqual([uid, gid, await mode(join(fixture.dir, 'volumes/kubernetes.io~projected/t/token'))], want);
  });
}

/** Volumes of all kinds with users, the objects that they need, and the files with their owners: without fsGroup, and with one. */
const withUsers: Volume[] = [
  { name: 'sec', secret: { secretName: 's', defaultUser: 1001, defaultMode: 0o400 } },
  {
    name: 'conf',
    configMap: {
      name: 'cm',
      defaultUser: 1001,
      items: [
        { key: 'a', path: 'deep/a', user: 1002 },
        { key: 'a', path: 'b' },
        { key: 'a', path: 'c', user: 0 },
      ],
    },
  },
  {
    name: 'info',
    downwardAPI: {
      items: [
        { path: 'name', user: 1003, fieldRef: { fieldPath: 'metadata.name' } },
        { path: 'other', fieldRef: { fieldPath: 'metadata.name' } },
      ],
    },
  },
  {
    name: 'all',
    projected: {
      defaultUser: 1004,
      sources: [
        { secret: { name: 's', items: [{ key: 'a', path: 'secret', user: 1005 }] } },
        { configMap: { name: 'cm' } },
        { downwardAPI: { items: [{ path: 'name', fieldRef: { fieldPath: 'metadata.name' } }] } },
        { serviceAccountToken: { path: 'token', user: 1006 } },
        { clusterTrustBundle: { name: 'bundle', path: 'trust.pem' } },
        { podCertificate: { signerName: 'example.com/s', keyType: 'ED25519', credentialBundlePath: 'bundle.pem', user: 1007 } },
      ],
    },
  },
];
const objectsOfUsers = serverWith({
  'Secret s': secret({ a: 'x' }),
  'ConfigMap cm': configMap({ a: 'x' }),
  Token: { kind: 'Token', token: 'jwt' },
  'TrustBundle bundle': { kind: 'TrustAnchors', pem: 'PEM' },
  PodCertificate: { kind: 'Credentials', keyPEM: 'k', chainPEM: 'c' },
});
const ownersIn = async ({ dir }: { readonly dir: string }, folder: string, files: readonly string[]) =>
  Promise.all(files.map((file) => ownerOf(join(dir, 'volumes', folder, file))));
const filesOfUsers: readonly [folder: string, files: readonly string[], own: readonly string[], withGroup: readonly string[]][] = [
  ['kubernetes.io~secret/sec', ['a'], ['1001 0 400'], ['1001 2000 440']],
  [
    'kubernetes.io~configmap/conf',
    ['deep/a', 'b', 'c'],
    ['1002 0 644', '1001 0 644', '0 0 644'],
    ['1002 2000 644', '1001 2000 644', '0 2000 644'],
  ],
  ['kubernetes.io~downward-api/info', ['name', 'other'], ['1003 0 644', '0 0 644'], ['1003 2000 644', '0 2000 644']],
  [
    'kubernetes.io~projected/all',
    ['secret', 'a', 'name', 'token', 'trust.pem', 'bundle.pem'],
    ['1005 0 644', '1004 0 644', '1004 0 644', '1006 0 600', '1004 0 600', '1007 0 600'],
    ['1005 2000 644', '1004 2000 644', '1004 2000 644', '1006 2000 640', '1004 2000 640', '1007 2000 640'],
  ],
];

test('files belong to the user of their item, else to the volume’s, and with an fsGroup to the group too', async () => {
  const by = volumesWith({ AtomicWriteVolumeUserFields: true });
  const alone = aPodWith(withUsers);
  const inGroup = aPodWith(withUsers, {}, { securityContext: { fsGroup: 2000, runAsUser: 7 } });
  for (const fixture of [alone, inGroup]) await setUp(fixture, objectsOfUsers, by);
  for (const [folder, files, own, withGroup] of filesOfUsers) {
    assert.deepEqual(await ownersIn(alone, folder, files), own);
    assert.deepEqual(await ownersIn(inGroup, folder, files), withGroup);
  }
  const link = await lstat(join(alone.dir, 'volumes/kubernetes.io~configmap/conf/deep'));
  assert.deepEqual([link.isSymbolicLink(), link.uid], [true, 1002]);
});

test('without the gate the users of a spec have no effect', async () => {
  const fixture = aPodWith(withUsers);
  await setUp(fixture, objectsOfUsers);
  for (const [folder, files] of filesOfUsers) {
    const wanted = files.map(() => (folder.endsWith('sec') ? '0 0 400' : '0 0 644'));
    assert.deepEqual(await ownersIn(fixture, folder, files), wanted);
  }
});

test('a subPath of a config map keeps the content that it had when the container was started', async () => {
  const fixture = aPodWith([{ name: 'conf', configMap: { name: 'cm' } }], {
    volumeMounts: [{ name: 'conf', mountPath: '/etc/app.conf', subPath: 'app.conf' }],
  });
  await setUp(fixture, serverWith({ 'ConfigMap cm': configMap({ 'app.conf': 'old' }) }));
  const [first] = await mountsOf(fixture);
  await setUp(fixture, serverWith({ 'ConfigMap cm': configMap({ 'app.conf': 'new' }) }));
  assert.equal(await readFile(first?.hostPath ?? '', 'utf8'), 'old');
  const [second] = await mountsOf(fixture);
  assert.equal(await readFile(second?.hostPath ?? '', 'utf8'), 'new');
  await volumes.unmountVolumes(fixture.uid);
  await volumes.removePodDirectory(fixture.uid);
});

test('items that lead out of the volume are rejected', async () => {
  const at = (path: string) => aPodWith([{ name: 'sec', secret: { secretName: 's', items: [{ key: 'a', path }] } }]);
  const server = serverWith({ 'Secret s': secret({ a: 'x' }) });
  await assert.rejects(setUp(at('../../escaped'), server), /invalid path: must not contain '\.\.': \.\.\/\.\.\/escaped/);
  await assert.rejects(setUp(at('/etc/passwd'), server), /invalid path: must be relative path: \/etc\/passwd/);
});

test('writing and comparing the files of a config map with thousands of keys does not block the thread', async () => {
  const keys = (value: string) => Object.fromEntries(Array.from({ length: 3000 }, (_, index) => [`key-${index}`, value]));
  const fixture = aPodWith([{ name: 'many', configMap: { name: 'many' } }]);
  const iterationsDuring = async (value: string) => {
    let iterations = 0;
    let next = setImmediate(function count() {
      iterations += 1;
      next = setImmediate(count);
    });
    await setUp(fixture, serverWith({ 'ConfigMap many': configMap(keys(value)) }));
    clearImmediate(next);
    return iterations;
  };
  for (const value of ['one', 'one', 'two']) {
    const iterations = await iterationsDuring(value);
    assert.ok(iterations >= 10, `${iterations} iterations`);
  }
  const path = join(fixture.dir, 'volumes/kubernetes.io~configmap/many');
  assert.equal(await readFile(join(path, 'key-2999'), 'utf8'), 'two');
  assert.equal((await readdir(path)).length, 3002);
});

test('volumes with large files are set up one after the other', async () => {
  const data = { big: 'x'.repeat(900_000), small: 'y' };
  const list = Array.from({ length: 12 }, (_, index): Volume => ({ name: `v${index}`, configMap: { name: 'conf' } }));
  const fixture = aPodWith(list, {}, { securityContext: { fsGroup: 77 } });
  const { signal } = new AbortController();
  const work = new LargeWorkLimiter().forTask();
  let large = 0;
  const request: RequestPodObjects = async (refs, maxBytes) => {
    if (maxBytes < 900_000) throw new LargeWorkError();
    large += 1;
    return serverWith({ 'ConfigMap conf': configMap(data) })(refs, maxBytes);
  };
  let running = 0;
  const inTurn = <T>(set: () => Promise<T>) =>
    work.inTurn(signal, async () => {
      running += 1;
      assert.equal(running, 1);
      return set().finally(() => (running -= 1));
    });
  await setUp(fixture, request, volumes, inTurn);
  assert.equal(large, 12);
  for (const { name } of list) {
    const path = join(fixture.dir, 'volumes/kubernetes.io~configmap', name);
    assert.equal((await readFile(join(path, 'big'), 'utf8')).length, 900_000);
    assert.equal((await stat(join(path, 'small'))).gid, 77);
  }
});

test('a volume with too many bytes fails with its name, and makes no more of them', async () => {
  const items = Array.from({ length: 200 }, (_, index) => ({ key: 'big', path: `copy-${index}` }));
  const server = serverWith({ 'ConfigMap conf': configMap({ big: 'x'.repeat(600_000) }) });
  const many = aPodWith([{ name: 'copies', configMap: { name: 'conf', items } }]);
  await assert.rejects(
    setUp(many, server),
    /missing: MountVolume.SetUp failed for volume "copies" : its files have more than 10485760 bytes/,
  );
  const sources = Array.from({ length: 20 }, () => ({ configMap: { name: 'conf', items: items.slice(0, 10) } }));
  const same = aPodWith([{ name: 'same', projected: { sources } }]);
  await setUp(same, server);
});
