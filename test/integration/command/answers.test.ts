/** The output of the command when it does not run a kubelet. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { aFolder, ensureBuilt, kubelet } from '../../support/kubelet/kubelet-command.ts';
import { kubernetesVersion } from '../../../src/shared/kubernetes/version.ts';

const header = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';

before(ensureBuilt);

test('kubelet --version prints the Kubernetes version', () => {
  assert.deepEqual(kubelet('--version'), { code: 0, stdout: `Kubernetes ${kubernetesVersion}\n`, stderr: '' });
  assert.deepEqual(kubelet('--v=2', '--version=true').stdout, `Kubernetes ${kubernetesVersion}\n`);
});

test('kubelet --version=raw prints the full version', () => {
  const { code, stdout } = kubelet('--version=raw');
  assert.equal(code, 0);
  const [major, minor] = kubernetesVersion.slice(1).split('.');
  assert.ok(stdout.startsWith(`version.Info{Major:"${major}", Minor:"${minor}", GitVersion:"${kubernetesVersion}", `), stdout);
});

test('kubelet --help lists the flags on stdout', () => {
  const { code, stdout, stderr } = kubelet('--help');
  assert.deepEqual([code, stderr], [0, '']);
  assert.match(stdout, /Usage:\n {2}kubelet \[flags\]\n/);
  assert.match(stdout, /--container-runtime-endpoint string/);
});

const invalidArguments: { name: string; args: string[]; want: RegExp }[] = [
  { name: 'an unknown flag', args: ['--nope'], want: /^Error: failed to parse kubelet flag: unknown flag: --nope\n$/ },
  {
    name: 'a malformed value',
    args: ['--v=x'],
    want: /^Error: failed to parse kubelet flag: invalid argument "x" for "-v, --v" flag: .*\n$/,
  },
  { name: 'an argument that is not a flag', args: ['run'], want: /^Error: unknown command run\n$/ },
  {
    name: 'a label that a node must not set on itself',
    args: ['--node-labels=kubernetes.io/x=y'],
    want: /^Error: failed to validate kubelet flags: unknown 'kubernetes\.io'.*\n$/,
  },
  {
    name: 'a missing configuration file',
    args: ['--config=/does/not/exist'],
    want: /^Error: failed to load kubelet config file, path: \/does\/not\/exist, error: ENOENT.*\n$/,
  },
  {
    name: 'a negative minimum age of dead containers',
    args: ['--minimum-container-ttl-duration=-1s'],
    want: /^Flag .*\nError: failed to create kubelet: invalid minimum garbage collection age: -1s\n$/,
  },
  {
    name: 'another version',
    args: ['--version=v1.20.0'],
    want: new RegExp(`^Error: version "v1\\.20\\.0" must begin with ${kubernetesVersion}\\n$`),
  },
];
for (const { name, args, want } of invalidArguments) {
  test(`${name} fails with exit code 1 and one line`, () => {
    const { code, stdout, stderr } = kubelet(...args);
    assert.deepEqual([code, stdout], [1, '']);
    assert.match(stderr, want);
  });
}

test('an error in the configuration names file, line and path', (t) => {
  const file = join(aFolder(t), 'kubelet.yaml');
  writeFileSync(file, `${header}authentication:\n  anonymous:\n    enabled: 1\n    enable: true\n`);
  const { code, stderr } = kubelet('--config', file);
  assert.equal(code, 1);
  assert.equal(
    stderr,
    `Error: failed to load kubelet config file, path: ${file}, error: strict decoding error: line 5: authentication.anonymous.enabled must be true or false, got 1, line 6: unknown field "authentication.anonymous.enable"\n`,
  );
});

test('an invalid configuration fails with all errors on one line', (t) => {
  const file = join(aFolder(t), 'kubelet.yaml');
  writeFileSync(file, `${header}failCgroupV1: false\nport: 70000\nmaxPods: -1\n`);
  const { code, stderr } = kubelet('--config', file);
  assert.equal(code, 1);
  assert.match(
    stderr,
    /^Error: failed to validate kubelet configuration, error: \[invalid configuration: maxPods .*, invalid configuration: port \(--port\) 70000 .*\]\n$/,
  );
});

test('a deprecated flag causes a warning on stderr', () => {
  const { stderr } = kubelet('--max-pods=1', '--version=raw');
  assert.match(stderr, /^Flag --max-pods has been deprecated, This parameter should be set via the config file .*\n$/);
});
