/** Volumes for real, as root below a root dir of the test's own: set up, bound into containers, taken down, removed. */
import assert from 'node:assert/strict';
import { chmod, lstat, mkdir, mkdtemp, readdir, readFile, readlink, realpath, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { Value, ValueResult } from '../../../src/shared/contracts/values.ts';
import type { Container, Pod, PodSpec, Volume } from '../../../src/shared/kubernetes/api.ts';
import type { PodUID } from '../../../src/shared/kubernetes/ids.ts';
import { readMountsBelow } from '../../../src/shared/linux/mountinfo.ts';
import { mount, MountFlag, unmount } from '../../../src/shared/linux/native.ts';
import { HelperClient } from '../../../src/workers/pod-sync/helper-client.ts';
import { makeEnvironment } from '../../../src/workers/pod-sync/runtime-config/index.ts';
import { type AskValues, PodVolumes } from '../../../src/workers/pod-sync/volumes/index.ts';
import { filesystemAt } from '../../../src/workers/pod-sync/volumes/filesystem-at.ts';
import { aLogger } from '../../support/logger.ts';
import { aContainer, aPod } from '../../support/pods.ts';
import { aNode, someSettings } from '../../support/runtime-config-inputs.ts';

const { logger, lines } = aLogger();
const helper = new HelperClient({ logger });
let rootDir: string;
let outside: string;
let volumes: PodVolumes;
let count = 0;

before(async () => {
  const base = await realpath(await mkdtemp(join(tmpdir(), 'volumes-')));
  rootDir = join(base, 'kubelet');
  outside = join(base, 'outside');
  await mkdir(rootDir);
  await mkdir(outside);
  await writeFile(join(outside, 'precious'), 'data');
  volumes = new PodVolumes({ rootDir, clusterDomain: 'cluster.local', helper, logger, selinuxEnabled: false });
});
after(async () => {
  for (const { mountPoint } of (await readMountsBelow(join(rootDir, '..'))).reverse()) await unmount(mountPoint);
  await helper.close();
  await rm(join(rootDir, '..'), { recursive: true, force: true });
});

interface Made {
  readonly pod: Pod;
  readonly container: Container;
  readonly uid: PodUID;
  readonly dir: string;
}

/** A pod with these volumes, each mounted at `/<name>` unless the container says otherwise. */
function aPodWith(list: readonly Volume[], container: Partial<Container> = {}, spec: Partial<PodSpec> = {}): Made {
  const uid = `uid-${(count += 1)}` as PodUID;
  const made = aContainer({ volumeMounts: list.map(({ name }) => ({ name, mountPath: `/${name}` })), ...container });
  const metadata = { uid, labels: { app: 'web' }, annotations: {} };
  return {
    pod: aPod({ metadata, spec: { volumes: list, containers: [made], ...spec } }),
    container: made,
    uid,
    dir: join(rootDir, 'pods', uid),
  };
}

const standalone: AskValues = async (refs) =>
  refs.map(() => ({ outcome: 'failed', failure: { reason: 'NoClient', message: 'no client' } }));
/** In the pod's folder, which its sync makes. Rejects with what the volumes that failed say. */
const setUp = async ({ pod }: Pick<Made, 'pod'>, askValues: AskValues = standalone, by: PodVolumes = volumes) => {
  await mkdir(join(rootDir, 'pods', pod.metadata.uid), { recursive: true, mode: 0o750 });
  const failures = await by.mountVolumes({ pod, node: aNode, askValues });
  if (failures.length > 0) throw new Error(failures.map(({ state, message }) => `${state}: ${message}`).join('\n'));
};
/** An API server that has these objects, by kind and name; what it has not is not found. */
const serverWith =
  (values: Readonly<Record<string, Value>>): AskValues =>
  async (refs) =>
    refs.map((ref): ValueResult => {
      const key = 'name' in ref ? `${ref.kind} ${ref.name}` : ref.kind;
      const value = values[key];
      if (value) return { outcome: 'value', value };
      return { outcome: 'failed', failure: { reason: 'NotFound', message: `${key} not found` } };
    });
const base64 = (text: string) => Buffer.from(text).toString('base64');
const secret = (data: Record<string, string>): Value => ({
  kind: 'Secret',
  uid: 'u',
  type: 'Opaque',
  data: Object.fromEntries(Object.entries(data).map(([key, text]) => [key, base64(text)])),
});
const configMap = (data: Record<string, string>, binaryData: Record<string, string> = {}): Value => ({
  kind: 'ConfigMap',
  data,
  binaryData,
});
const mountsOf = ({ pod, container }: Made, env: readonly { name: string; value: string }[] = [], podIPs = ['10.0.0.7']) =>
  volumes.makeContainerMounts({ pod, container, env, podIPs, supportsRecursiveReadOnly: false });
const mode = async (path: string) => (await stat(path)).mode & 0o7777;

test('an emptyDir on disk is open to all, keeps its content when set up again, and is gone after the end', async () => {
  const made = aPodWith([{ name: 'data', emptyDir: {} }]);
  const path = join(made.dir, 'volumes/kubernetes.io~empty-dir/data');
  await setUp(made);
  assert.equal(await mode(path), 0o777);
  await writeFile(join(path, 'file'), 'kept');
  await chmod(path, 0o700);
  await setUp(made);
  assert.equal(await readFile(join(path, 'file'), 'utf8'), 'kept');
  assert.equal(await mode(path), 0o700);
  await volumes.unmountVolumes(made.uid);
  assert.deepEqual(await readdir(join(made.dir, 'volumes')), []);
  await volumes.removePodDirectory(made.uid);
  await assert.rejects(lstat(made.dir), { code: 'ENOENT' });
  await volumes.unmountVolumes(made.uid);
  await volumes.removePodDirectory(made.uid);
});

test('an emptyDir in memory is a tmpfs of the right size, mounted once, also when its kubelet is another', async () => {
  const made = aPodWith([{ name: 'mem', emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } }]);
  const path = join(made.dir, 'volumes/kubernetes.io~empty-dir/mem');
  await setUp(made);
  await writeFile(join(path, 'file'), 'kept');
  await setUp(made, standalone, new PodVolumes({ rootDir, clusterDomain: '', helper, logger, selinuxEnabled: false }));
  const mounts = await readMountsBelow(path);
  assert.deepEqual(
    mounts.map(({ fsType }) => fsType),
    ['tmpfs'],
  );
  assert.ok(mounts[0]?.superOptions.includes('size=1024k'));
  assert.equal(await readFile(join(path, 'file'), 'utf8'), 'kept');
  assert.equal(await mode(path), 0o777);
  await volumes.unmountVolumes(made.uid);
  assert.deepEqual(await readMountsBelow(made.dir), []);
});

test('a memory volume that lost its mount, as after a reboot, is mounted again', async () => {
  const made = aPodWith([{ name: 'mem', emptyDir: { medium: 'Memory' } }]);
  const path = join(made.dir, 'volumes/kubernetes.io~empty-dir/mem');
  await setUp(made);
  await unmount(path);
  await setUp(made);
  assert.equal((await readMountsBelow(path)).length, 1);
});

test('a volume with an fsGroup belongs to it', async () => {
  const made = aPodWith([{ name: 'data', emptyDir: {} }], {}, { securityContext: { fsGroup: 4242 } });
  await setUp(made);
  const path = join(made.dir, 'volumes/kubernetes.io~empty-dir/data');
  assert.deepEqual([(await stat(path)).gid, await mode(path)], [4242, 0o2777]);
});

test('downward API files are in the layout that programs watch, and follow the pod', async () => {
  const items = [
    { path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } },
    { path: 'deep/cpu', mode: 0o400, resourceFieldRef: { containerName: 'app', resource: 'limits.cpu', divisor: '1m' } },
  ];
  const made = aPodWith([{ name: 'info', downwardAPI: { defaultMode: 0o644, items } }], {}, { securityContext: { fsGroup: 77 } });
  const path = join(made.dir, 'volumes/kubernetes.io~downward-api/info');
  await setUp(made);
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
  await setUp(made);
  assert.equal(await readlink(join(path, '..data')), first);
  const labelled = { ...made.pod, metadata: { ...made.pod.metadata, labels: { app: 'other' } } };
  const fewer = { ...labelled.spec, volumes: [{ name: 'info', downwardAPI: { items: items.slice(0, 1) } }] };
  await setUp({ pod: { ...labelled, spec: fewer } });
  assert.equal(await readFile(join(path, 'labels'), 'utf8'), 'app="other"');
  assert.notEqual(await readlink(join(path, '..data')), first);
  const left = await readdir(path);
  assert.deepEqual(left.filter((name) => !/^\.\.\d/.test(name)).sort(), ['..data', 'labels']);
  assert.equal(left.length, 3);
  assert.equal((await mountsOf(made)).find(({ containerPath }) => containerPath === '/info')?.readonly, true);
});

test('a projected volume of downward API files is set up; one that needs the API server says so', async () => {
  const own = { downwardAPI: { items: [{ path: 'name', fieldRef: { fieldPath: 'metadata.name' } }] } };
  const made = aPodWith([{ name: 'all', projected: { sources: [own] } }]);
  await setUp(made);
  assert.equal(await readFile(join(made.dir, 'volumes/kubernetes.io~projected/all/name'), 'utf8'), 'web');
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

test('a secret is in memory and a config map on disk, with the modes that their volumes ask for', async () => {
  const made = aPodWith([
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
  await setUp(made, server);
  const sec = join(made.dir, 'volumes/kubernetes.io~secret/sec');
  const conf = join(made.dir, 'volumes/kubernetes.io~configmap/conf');
  assert.deepEqual([await readFile(join(sec, 'password'), 'utf8'), await mode(join(sec, 'password'))], ['geheim', 0o400]);
  assert.deepEqual([await readFile(join(conf, 'deep/er/a'), 'utf8'), await mode(join(conf, 'deep/er/a'))], ['text', 0o755]);
  assert.deepEqual([...(await readFile(join(conf, 'bin')))], [255, 0]);
  assert.deepEqual((await readdir(conf)).filter((name) => !name.startsWith('..')).sort(), ['bin', 'deep']);
  assert.deepEqual((await readMountsBelow(made.dir)).map(({ mountPoint, fsType }) => `${fsType} ${mountPoint}`).sort(), [
    `tmpfs ${join(made.dir, 'volumes/kubernetes.io~secret/none')}`,
    `tmpfs ${sec}`,
  ]);
  assert.deepEqual(
    (await readdir(join(made.dir, 'volumes/kubernetes.io~secret/none'))).filter((name) => !name.startsWith('..')),
    [],
  );
  assert.deepEqual(
    (await mountsOf(made)).slice(0, 3).map(({ readonly }) => readonly),
    [true, true, true],
  );
  await volumes.unmountVolumes(made.uid);
  assert.deepEqual(await readdir(join(made.dir, 'volumes')), []);
  await volumes.removePodDirectory(made.uid);
});

test('files follow their object; what is equal is not written again, also by another kubelet', async () => {
  const made = aPodWith([{ name: 'conf', configMap: { name: 'cm' } }]);
  const path = join(made.dir, 'volumes/kubernetes.io~configmap/conf');
  await setUp(made, serverWith({ 'ConfigMap cm': configMap({ a: '1', b: 'x' }) }));
  const first = await readlink(join(path, '..data'));
  await setUp(
    made,
    serverWith({ 'ConfigMap cm': configMap({ b: 'x', a: '1' }) }),
    new PodVolumes({ rootDir, clusterDomain: '', helper, logger, selinuxEnabled: false }),
  );
  assert.equal(await readlink(join(path, '..data')), first);
  await setUp(made, serverWith({ 'ConfigMap cm': configMap({ a: '2' }) }));
  assert.equal(await readFile(join(path, 'a'), 'utf8'), '2');
  assert.deepEqual(
    (await readdir(path)).filter((name) => !name.startsWith('..')),
    ['a'],
  );
});

test('a volume whose object is gone is missing at first, and only outdated once it was there', async () => {
  const made = aPodWith([{ name: 'sec', secret: { secretName: 's' } }]);
  await assert.rejects(setUp(made, serverWith({})), /^Error: missing: MountVolume.SetUp failed for volume "sec" : Secret s not found$/);
  assert.deepEqual(await readMountsBelow(made.dir), []);
  await setUp(made, serverWith({ 'Secret s': secret({ a: 'kept' }) }));
  await assert.rejects(setUp(made, serverWith({})), /^Error: outdated: /);
  assert.equal(await readFile(join(made.dir, 'volumes/kubernetes.io~secret/sec/a'), 'utf8'), 'kept');
  const withKey = aPodWith([{ name: 'sec', secret: { secretName: 's', items: [{ key: 'k', path: 'k' }] } }]);
  await assert.rejects(setUp(withKey, serverWith({ 'Secret s': secret({}) })), /: references non-existent secret key: k$/);
});

test('a projected volume has the files of all its sources, of several for one path the last', async () => {
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
  const made = aPodWith([{ name: 'all', projected }]);
  await setUp(made, server);
  const at = (name: string) => join(made.dir, 'volumes/kubernetes.io~projected/all', name);
  const contents = ['token', 'ca.crt', 'dir/a', 'namespace', 'trust.pem'].map((name) => readFile(at(name), 'utf8'));
  assert.deepEqual(await Promise.all(contents), ['jwt', 'CA', 'last', 'default', 'PEM']);
  assert.equal(await mode(at('token')), 0o644);
  const failing = aPodWith([{ name: 'all', projected: { sources: [{ secret: { name: 'x' } }, { configMap: { name: 'y' } }] } }]);
  await assert.rejects(setUp(failing, server), /failed for volume "all" : \[Secret x not found, ConfigMap y not found\]$/);
});

test('a certificate lies in the volume as one file, as two, or both', async () => {
  const source = { signerName: 'example.com/s', keyType: 'ED25519' };
  const sources = [
    { podCertificate: { ...source, credentialBundlePath: 'bundle.pem' } },
    { podCertificate: { ...source, keyPath: 'tls/key.pem', certificateChainPath: 'tls/chain.pem' } },
  ];
  const made = aPodWith([{ name: 'id', projected: { sources } }], {}, { securityContext: { runAsUser: 1000 } });
  const server: AskValues = async (refs) => {
    assert.deepEqual(
      refs,
      [0, 1].map((sourceIndex) => ({ kind: 'PodCertificate', volume: 'id', sourceIndex })),
    );
    return refs.map((_, n) => ({ outcome: 'value', value: { kind: 'Credentials', keyPEM: `key-${n}\n`, chainPEM: `chain-${n}\n` } }));
  };
  await setUp(made, server);
  const at = (name: string) => join(made.dir, 'volumes/kubernetes.io~projected/id', name);
  const contents = ['bundle.pem', 'tls/key.pem', 'tls/chain.pem'].map((name) => readFile(at(name), 'utf8'));
  assert.deepEqual(await Promise.all(contents), ['key-0\nchain-0\n', 'key-1\n', 'chain-1\n']);
  assert.deepEqual([(await stat(at('bundle.pem'))).uid, await mode(at('bundle.pem'))], [1000, 0o600]);
  const refusing: AskValues = async (refs) =>
    refs.map(() => ({ outcome: 'failed', failure: { reason: 'NotIssued', message: 'credential bundle is not issued yet' } }));
  const waiting = aPodWith([{ name: 'id', projected: { sources } }]);
  await assert.rejects(setUp(waiting, refusing), /failed for volume "id" : credential bundle is not issued yet$/);
});

test('a token that the volume holds already is told to main, which may keep it', async () => {
  const made = aPodWith([{ name: 't', projected: { sources: [{ serviceAccountToken: { path: 'deep/token' } }] } }]);
  const held: (string | undefined)[] = [];
  const server: AskValues = async (refs) =>
    refs.map((ref): ValueResult => {
      assert.ok(ref.kind === 'Token');
      held.push(ref.onDisk);
      return { outcome: 'value', value: { kind: 'Token', token: ref.onDisk ?? 'new' } };
    });
  await setUp(made, server);
  const data = join(made.dir, 'volumes/kubernetes.io~projected/t/..data');
  const first = await readlink(data);
  await setUp(made, server);
  assert.deepEqual(held, [undefined, 'new']);
  assert.equal(await readlink(data), first);
});

for (const [who, spec, want] of [
  ['root alone when nobody else is named', { securityContext: {} }, [0, 0, 0o644]],
  ['the user that all containers run as', { securityContext: { runAsUser: 1000 } }, [1000, 0, 0o600]],
  ['the fsGroup', { securityContext: { fsGroup: 2000 } }, [0, 2000, 0o640]],
  ['both', { securityContext: { runAsUser: 1000, fsGroup: 2000 } }, [1000, 2000, 0o640]],
] as const) {
  test(`a token may be read by ${who}`, async () => {
    const source = { sources: [{ serviceAccountToken: { path: 'token' } }] };
    const made = aPodWith([{ name: 't', projected: source }], {}, spec);
    await setUp(made, serverWith({ Token: { kind: 'Token', token: 'jwt' } }));
    const { uid, gid } = await stat(join(made.dir, 'volumes/kubernetes.io~projected/t/token'));
    assert.deepEqual([uid, gid, await mode(join(made.dir, 'volumes/kubernetes.io~projected/t/token'))], want);
  });
}

test('a subPath of a config map is bound as it is at the start of the container', async () => {
  const made = aPodWith([{ name: 'conf', configMap: { name: 'cm' } }], {
    volumeMounts: [{ name: 'conf', mountPath: '/etc/app.conf', subPath: 'app.conf' }],
  });
  await setUp(made, serverWith({ 'ConfigMap cm': configMap({ 'app.conf': 'old' }) }));
  const [first] = await mountsOf(made);
  await setUp(made, serverWith({ 'ConfigMap cm': configMap({ 'app.conf': 'new' }) }));
  assert.equal(await readFile(first?.hostPath ?? '', 'utf8'), 'old');
  const [second] = await mountsOf(made);
  assert.equal(await readFile(second?.hostPath ?? '', 'utf8'), 'new');
  await volumes.unmountVolumes(made.uid);
  await volumes.removePodDirectory(made.uid);
});

test('items that lead out of the volume are refused', async () => {
  const at = (path: string) => aPodWith([{ name: 'sec', secret: { secretName: 's', items: [{ key: 'a', path }] } }]);
  const server = serverWith({ 'Secret s': secret({ a: 'x' }) });
  await assert.rejects(setUp(at('../../escaped'), server), /invalid path: must not contain '\.\.': \.\.\/\.\.\/escaped/);
  await assert.rejects(setUp(at('/etc/passwd'), server), /invalid path: must be relative path: \/etc\/passwd/);
});

test('huge pages that nobody asked for are refused, and a volume that nobody mounts is not set up', async () => {
  await assert.rejects(
    setUp(aPodWith([{ name: 'huge', emptyDir: { medium: 'HugePages' } }])),
    /there is no resource request for huge pages/,
  );
  await setUp(aPodWith([{ name: 'huge', emptyDir: { medium: 'HugePages' } }], { volumeMounts: [] }));
});

test('a hostPath is checked by its type and mounted from where it is', async () => {
  const made = aPodWith([{ name: 'host', hostPath: { path: join(outside, 'new/dir'), type: 'DirectoryOrCreate' } }]);
  await setUp(made);
  const [first] = await mountsOf(made);
  assert.equal(first?.hostPath, join(outside, 'new/dir'));
  await assert.rejects(
    setUp(aPodWith([{ name: 'host', hostPath: { path: join(outside, 'precious'), type: 'Directory' } }])),
    /precious is not a directory/,
  );
  await assert.rejects(
    setUp(aPodWith([{ name: 'host', hostPath: { path: '/a/../etc' } }])),
    /invalid HostPath `\/a\/\.\.\/etc`: must not contain '\.\.'/,
  );
});

test("a container's mounts: volumes as asked, the hosts file, a new termination message file", async () => {
  const made = aPodWith([{ name: 'data', emptyDir: {} }], {
    terminationMessagePath: '/dev/termination-log',
    volumeMounts: [
      { name: 'data', mountPath: '/data', readOnly: true, mountPropagation: 'HostToContainer' },
      { name: 'data', mountPath: 'relative', subPath: 'a/b' },
      { name: 'data', mountPath: '/expr', subPathExpr: '$(WHO)/logs' },
    ],
  });
  await setUp(made);
  const mounts = await mountsOf(made, [{ name: 'WHO', value: 'me' }]);
  assert.deepEqual(
    mounts
      .map(({ containerPath, hostPath, readonly, propagation }) => [containerPath, hostPath.replace(made.dir, ''), readonly, propagation])
      .slice(0, 4),
    [
      ['/data', '/volumes/kubernetes.io~empty-dir/data', true, 1],
      ['/relative', '/volume-subpaths/data/app/1', false, 0],
      ['/expr', '/volume-subpaths/data/app/2', false, 0],
      ['/etc/hosts', '/etc-hosts', false, 0],
    ],
  );
  assert.match(await readFile(join(made.dir, 'etc-hosts'), 'utf8'), /^10\.0\.0\.7\tweb$/m);
  assert.equal(await mode(join(made.dir, 'volumes/kubernetes.io~empty-dir/data/me/logs')), 0o777);
  const message = mounts[4];
  assert.match(message?.hostPath ?? '', /\/containers\/app\/[0-9a-f]{8}$/);
  assert.deepEqual([message?.containerPath, await mode(message?.hostPath ?? '')], ['/dev/termination-log', 0o666]);
  const again = await mountsOf(made, [{ name: 'WHO', value: 'me' }]);
  assert.notEqual(again[4]?.hostPath, message?.hostPath);
  assert.equal((await readMountsBelow(made.dir)).length, 2);
  await volumes.unmountVolumes(made.uid);
  await volumes.removePodDirectory(made.uid);
  await assert.rejects(lstat(made.dir), { code: 'ENOENT' });
});

test('a subPath that leads out is refused, and what is there is told to the log only', async () => {
  const made = aPodWith([{ name: 'data', emptyDir: {} }], { volumeMounts: [{ name: 'data', mountPath: '/x', subPath: 'way/out' }] });
  await setUp(made);
  await symlink(outside, join(made.dir, 'volumes/kubernetes.io~empty-dir/data/way'));
  await assert.rejects(mountsOf(made), {
    reason: 'CreateContainerConfigError',
    message: 'failed to prepare subPath for volumeMount "data" of container "app"',
  });
  assert.ok(lines.some(({ subPath, err }) => subPath === 'way/out' && /outside of allowed base/.test(String(err))));
  assert.deepEqual(await readdir(outside).then((names) => names.includes('out')), false);
});

for (const [what, volumeMount, message] of [
  ['an unknown volume', { name: 'nobody', mountPath: '/x' }, 'cannot find volume "nobody" to mount into container "app"'],
  ['a subPath from the root', { name: 'data', mountPath: '/x', subPath: '/etc' }, 'error SubPath `/etc` must not be an absolute path'],
  [
    'a subPath that goes up',
    { name: 'data', mountPath: '/x', subPath: 'a/../..' },
    "unable to provision SubPath `a/../..`: must not contain '..'",
  ],
  ['a subPathExpr of nothing', { name: 'data', mountPath: '/x', subPathExpr: '$(B)$(A)' }, 'missing value for A, B'],
  ['an unknown propagation', { name: 'data', mountPath: '/x', mountPropagation: 'Sideways' }, 'invalid MountPropagation mode: "Sideways"'],
  [
    'recursive read-only where the runtime has it not',
    { name: 'data', mountPath: '/x', readOnly: true, recursiveReadOnly: 'Enabled' },
    'failed to resolve recursive read-only mode: volume "data" requested recursive read-only mode, but it is not supported by the runtime',
  ],
] as const) {
  test(`${what} is a clear CreateContainerConfigError`, async () => {
    const made = aPodWith([{ name: 'data', emptyDir: {} }], { volumeMounts: [{ name: 'data', mountPath: '/data' }, volumeMount] });
    await setUp(made);
    await assert.rejects(mountsOf(made), { reason: 'CreateContainerConfigError', message });
  });
}

test('an environment file in a volume is read, and only there', async () => {
  const env = [{ name: 'V', valueFrom: { fileKeyRef: { volumeName: 'data', path: 'env', key: 'A' } } }];
  const made = aPodWith([{ name: 'data', emptyDir: {} }], { env });
  await setUp(made);
  const path = join(made.dir, 'volumes/kubernetes.io~empty-dir/data');
  await writeFile(join(path, 'env'), "A='from a file'\n");
  const envFiles = await volumes.readEnvFiles(made.pod, made.container);
  const [services] = await standalone([{ kind: 'Services', namespace: '', links: true }]);
  const nothing = { services: services!, configMaps: new Map(), secrets: new Map() };
  const values = makeEnvironment({
    pod: made.pod,
    container: made.container,
    node: aNode,
    settings: someSettings,
    podIPs: [],
    envFiles,
    values: nothing,
  });
  assert.deepEqual(values, [{ name: 'V', value: 'from a file' }]);
  await rm(join(path, 'env'));
  await symlink(join(outside, 'precious'), join(path, 'env'));
  await assert.rejects(volumes.readEnvFiles(made.pod, made.container), /couldn't parse env file: .*not within volume path/);
});

test("a pod's folder is not removed while anything is mounted in it, nor what links and mounts lead to", async () => {
  const made = aPodWith([{ name: 'data', emptyDir: {} }]);
  await setUp(made);
  const data = join(made.dir, 'volumes/kubernetes.io~empty-dir/data');
  await symlink(outside, join(data, 'link'));
  const strange = join(made.dir, 'volumes/kubernetes.io~nfs/share');
  await mkdir(strange, { recursive: true });
  await mount(outside, strange, '', MountFlag.bind, '');
  await assert.rejects(volumes.removePodDirectory(made.uid), /kubernetes\.io~nfs\/share still mounted/);
  assert.equal(await readFile(join(strange, 'precious'), 'utf8'), 'data');
  assert.deepEqual(await readdir(data), ['link']);
  await volumes.unmountVolumes(made.uid);
  await writeFile(join(strange, 'unknown'), 'perhaps data');
  await assert.rejects(volumes.removePodDirectory(made.uid), /unknown is a file where only mount points should be left: not removed/);
  await rm(join(strange, 'unknown'));
  await volumes.removePodDirectory(made.uid);
  await assert.rejects(lstat(made.dir), { code: 'ENOENT' });
  assert.equal(await readFile(join(outside, 'precious'), 'utf8'), 'data');
});

test('mounts in mounts are taken down, the deepest first; one that is busy is named and the others go', async () => {
  const made = aPodWith([
    { name: 'mem', emptyDir: { medium: 'Memory' } },
    { name: 'busy', emptyDir: { medium: 'Memory' } },
  ]);
  await setUp(made);
  const at = (name: string) => join(made.dir, 'volumes/kubernetes.io~empty-dir', name);
  await mkdir(join(at('mem'), 'deeper'));
  await mount('tmpfs', join(at('mem'), 'deeper'), 'tmpfs', 0, '');
  const { open } = await import('node:fs/promises');
  const file = await open(join(at('busy'), 'held'), 'w');
  await assert.rejects(volumes.unmountVolumes(made.uid), /busy still mounted: EBUSY/);
  assert.deepEqual(
    (await readMountsBelow(made.dir)).map(({ mountPoint }) => mountPoint),
    [at('busy')],
  );
  await file.close();
  await volumes.unmountVolumes(made.uid);
  await volumes.removePodDirectory(made.uid);
  await assert.rejects(lstat(made.dir), { code: 'ENOENT' });
});

test('a UID that would lead elsewhere is refused, as is a folder that is a link', async () => {
  for (const uid of ['..', '../../outside', '']) {
    await assert.rejects(volumes.removePodDirectory(uid as PodUID), /cannot be the name of a folder/);
    await assert.rejects(volumes.unmountVolumes(uid as PodUID), /cannot be the name of a folder/);
  }
  await symlink(outside, join(rootDir, 'pods/linked'));
  await assert.rejects(volumes.removePodDirectory('linked' as PodUID), /is not a folder/);
  assert.equal(await readFile(join(outside, 'precious'), 'utf8'), 'data');
});

test('a root dir that is reached by a link is found in the mount table all the same', async () => {
  await symlink(rootDir, join(rootDir, '../by-link'));
  const linked = new PodVolumes({ rootDir: join(rootDir, '../by-link'), clusterDomain: '', helper, logger, selinuxEnabled: false });
  const made = aPodWith([{ name: 'mem', emptyDir: { medium: 'Memory' } }]);
  for (let times = 0; times < 2; times += 1) await setUp(made, standalone, linked);
  assert.equal((await readMountsBelow(made.dir)).length, 1);
  await linked.unmountVolumes(made.uid);
  await linked.removePodDirectory(made.uid);
  await assert.rejects(lstat(made.dir), { code: 'ENOENT' });
});

test('what is mounted is told of the very place: not of a folder in a mount, nor of a link to one', async () => {
  const dir = join(rootDir, 'places');
  await mkdir(join(dir, 'memory'), { recursive: true });
  assert.equal(await filesystemAt(join(dir, 'memory')), undefined);
  assert.equal(await filesystemAt(join(dir, 'nowhere')), undefined);
  await mount('tmpfs', join(dir, 'memory'), 'tmpfs', 0, '');
  await mkdir(join(dir, 'memory/below'));
  await symlink('memory', join(dir, 'link'));
  assert.equal(await filesystemAt(join(dir, 'memory')), 'tmpfs');
  assert.equal(await filesystemAt(join(dir, 'memory/below')), undefined);
  assert.equal(await filesystemAt(join(dir, 'link')), undefined);
  assert.equal(await filesystemAt('/proc'), 'other');
});
