import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { cacheEntry } from '../../../lab/cache/user-cache.ts';
import { ensureContainerd } from '../../../lab/containerd/installations/installations.ts';
import { ensureControlPlane } from '../../../lab/programs/control-plane.ts';
import { goArguments, kubernetesVariables, requiredVersion } from '../../../lab/programs/go-build.ts';
import { ensureKubeadmBinaries, kubeadmPrograms } from '../../../lab/programs/kubeadm.ts';
import { kubernetesMinor, kubernetesVersion } from '../../../src/shared/kubernetes/version.ts';

/** An empty cache folder, in a lane of the tests. */
function anEmptyCache(t: TestContext): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'cache-')));
  t.after(() => rmSync(folder, { recursive: true }));
  for (const [name, value] of Object.entries({ XDG_CACHE_HOME: folder, KUBELET_TEST_LANE: '0', KUBEBUILDER_ASSETS: '' })) {
    const before = process.env[name];
    process.env[name] = value;
    t.after(() => {
      if (before === undefined) delete process.env[name];
      else process.env[name] = before;
    });
  }
  return join(folder, 'kubelet-ts');
}
const noProgress = () => assert.fail('it builds');

test('a program that is not built is an error in a lane, and is found where it was built', async (t) => {
  const cache = anEmptyCache(t);
  const missing = /^Error: kubeadm, kube-proxy, coredns: not built.*node lab\/programs\/build\.ts$/;
  await assert.rejects(ensureKubeadmBinaries(noProgress), missing);
  const [entry = ''] = readdirSync(cache);
  for (const name of kubeadmPrograms) writeFileSync(join(cache, entry, name), '');
  assert.equal((await ensureKubeadmBinaries(noProgress)).kubeadm, join(cache, entry, 'kubeadm'));
});

test('the missing programs of a control plane are named, and those of KUBEBUILDER_ASSETS are not missing', async (t) => {
  const assets = join(dirname(anEmptyCache(t)), 'assets');
  mkdirSync(assets);
  for (const name of ['etcd', 'kube-apiserver', 'kubectl']) writeFileSync(join(assets, name), '', { mode: 0o755 });
  process.env.KUBEBUILDER_ASSETS = assets;
  await assert.rejects(ensureControlPlane(noProgress), /kube-controller-manager, kube-scheduler: not built/);
  for (const name of ['kube-controller-manager', 'kube-scheduler']) writeFileSync(join(assets, name), '', { mode: 0o755 });
  assert.equal((await ensureControlPlane(noProgress)).etcd, join(assets, 'etcd'));
});

test('a containerd is used where it was unpacked, and nowhere else', (t) => {
  const cache = anEmptyCache(t);
  assert.equal(ensureContainerd('1.6'), '');
  assert.throws(() => ensureContainerd('2.1'), /containerd 2\.1: not built.*installations\.ts 2\.1$/);
  const [entry = ''] = readdirSync(cache);
  const mark = join(cache, entry, 'unpacked-at');
  writeFileSync(mark, '/elsewhere\n');
  assert.throws(() => ensureContainerd('2.1'), /not built/);
  writeFileSync(mark, `${join(cache, entry)}\n`);
  assert.equal(ensureContainerd('2.1'), join(cache, entry));
});

test('the path of an entry has no symbolic link', (t) => {
  const folder = dirname(anEmptyCache(t));
  symlinkSync(folder, join(folder, 'link'));
  process.env.XDG_CACHE_HOME = join(folder, 'link');
  assert.equal(cacheEntry('a', '1'), join(folder, 'kubelet-ts/a-1'));
});

test('programs are linked with the versions that their modules require', () => {
  const cluster = join(import.meta.dirname, '../../cluster');
  assert.equal(requiredVersion(cluster, 'k8s.io/kubernetes'), kubernetesVersion);
  assert.match(requiredVersion(cluster, 'sigs.k8s.io/metrics-server'), /^v\d/);
  assert.throws(() => requiredVersion(cluster, 'example.com/none'), /does not require example\.com\/none/);
  const [, flags = ''] = /-ldflags,(.*)/.exec(goArguments({ variables: kubernetesVariables(kubernetesVersion) }).join()) ?? [];
  const [major, minor] = kubernetesMinor.split('.');
  assert.match(flags, new RegExp(`^-s -w .*/version\\.gitVersion=${kubernetesVersion} -X .*gitMajor=${major} -X .*gitMinor=${minor}`));
});
