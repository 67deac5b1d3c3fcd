import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { loadConfiguration, type LoadedConfiguration } from '../../../src/main/config/load-configuration.ts';
import { applyFlags } from '../../../src/main/config/flags/apply-flags.ts';
import { parseFlags } from '../../../src/main/config/flags/parse-flags.ts';

const header = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';

interface Given {
  /** The content of `config.yaml` and of drop-ins below `conf.d/`, by path. */
  readonly files?: Readonly<Record<string, string>>;
  readonly args?: readonly string[];
  readonly decoding?: 'lenient' | 'strict';
}

function load({ files = {}, args = [], decoding = 'strict' }: Given): LoadedConfiguration {
  const folder = mkdtempSync(join(tmpdir(), 'kubelet-config-'));
  try {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(join(folder, path, '..'), { recursive: true });
      writeFileSync(join(folder, path), text === '' ? '' : header + text);
    }
    const { values } = parseFlags(args);
    const names = Object.keys(files);
    return loadConfiguration({
      file: names.includes('config.yaml') ? join(folder, 'config.yaml') : '',
      dropInDir: names.some((name) => name.startsWith('conf.d/')) ? join(folder, 'conf.d') : '',
      decoding,
      applyFlags: (config) => applyFlags(config, values),
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test('flags override drop-ins, drop-ins the file, and the file the defaults', () => {
  const { config } = load({
    files: {
      'config.yaml': 'maxPods: 1\nport: 1001\nregistryBurst: 1\neventBurst: 1',
      'conf.d/10.conf': 'maxPods: 2\nport: 1002\nregistryBurst: 2',
      'conf.d/20.conf': 'maxPods: 3\nport: 1003',
    },
    args: ['--max-pods=4'],
  });
  assert.deepEqual([config.maxPods, config.port, config.registryBurst, config.eventBurst, config.kubeAPIBurst], [4, 1003, 2, 1, 100]);
});

test('gates are merged by name over all sources', () => {
  const { config, featureGates } = load({
    files: {
      'config.yaml': 'featureGates: {CRIListStreaming: true, NodeSwap: true}',
      'conf.d/a.conf': 'featureGates: {EventedPLEG: true}',
    },
    args: ['--feature-gates=CRIListStreaming=false'],
  });
  assert.deepEqual(config.featureGates, { CRIListStreaming: false, EventedPLEG: true, NodeSwap: true });
  assert.equal(featureGates.enabled('EventedPLEG'), true);
});

test('maps of drop-ins are merged key by key, lists are replaced', () => {
  const { config } = load({
    files: {
      'config.yaml': 'systemReserved: {cpu: 100m, memory: 1Gi}\nclusterDNS: [10.0.0.1, 10.0.0.2]',
      'conf.d/a.conf': 'systemReserved: {memory: 2Gi, pid: "100"}\nclusterDNS: [10.0.0.3]',
    },
  });
  assert.deepEqual(config.systemReserved, { cpu: '100m', memory: '2Gi', pid: '100' });
  assert.deepEqual(config.clusterDNS, ['10.0.0.3']);
});

test('null in a drop-in restores the default', () => {
  assert.equal(load({ files: { 'config.yaml': 'maxPods: 5', 'conf.d/a.conf': 'maxPods: null' } }).config.maxPods, 110);
});

test('a map flag replaces the file’s map', () => {
  const { config } = load({
    files: { 'config.yaml': 'systemReserved: {cpu: 100m}' },
    args: ['--system-reserved=memory=1Gi', '--system-reserved', 'pid=10'],
  });
  assert.deepEqual(config.systemReserved, { memory: '1Gi', pid: '10' });
});

test('a flag changes no default of another field', () => {
  assert.equal(load({ args: ['--node-status-update-frequency=20s'] }).config.nodeStatusReportFrequency, 300_000);
});

test('drop-ins are read recursively in lexical order, and only *.conf', () => {
  const { config, skippedFiles } = load({
    files: { 'conf.d/10.d/x.conf': 'maxPods: 1\nport: 1', 'conf.d/20.conf': 'maxPods: 2', 'conf.d/30.yaml': 'maxPods: 3' },
  });
  assert.deepEqual([config.maxPods, config.port], [2, 1]);
  assert.deepEqual(
    skippedFiles.map((path) => path.split('/').at(-1)),
    ['30.yaml'],
  );
});

test('drop-ins without a file keep the legacy defaults', () => {
  const { config } = load({ files: { 'conf.d/a.conf': 'maxPods: 1' } });
  assert.deepEqual([config.readOnlyPort, config.authentication.anonymous.enabled], [10255, true]);
});

test('a file has the API’s defaults', () => {
  const { config } = load({ files: { 'config.yaml': 'maxPods: 1' } });
  assert.deepEqual(
    [config.readOnlyPort, config.authentication.anonymous.enabled, config.evictionHard['memory.available']],
    [0, false, '100Mi'],
  );
});

test('without a file there are no eviction thresholds, as upstream', () => {
  assert.deepEqual(load({}).config.evictionHard, {});
});

test('paths of the file are relative to its folder', () => {
  const { config } = load({ files: { 'config.yaml': 'staticPodPath: pods\npodLogsDir: /logs\nresolvConf: ""' } });
  assert.match(config.staticPodPath, /kubelet-config-[^/]+\/pods$/);
  assert.deepEqual([config.podLogsDir, config.resolvConf], ['/logs', '']);
});

test('explicit fields are distinguished from defaults', () => {
  const { explicit } = load({ files: { 'config.yaml': 'maxPods: 1', 'conf.d/a.conf': 'port: 1' } });
  assert.deepEqual(explicit, { maxPods: 1, port: 1 });
});

test('at the start an unknown field of the file or of a drop-in is ignored, with a warning that names the file', () => {
  const { config, explicit, ignored } = load({
    files: { 'config.yaml': 'maxPods: 1\nfoo: 1', 'conf.d/a.conf': 'port: 1\nauthentication: {anonymus: {}}' },
    decoding: 'lenient',
  });
  assert.deepEqual([config.maxPods, config.port], [1, 1]);
  assert.deepEqual(explicit, { maxPods: 1, port: 1, authentication: {} });
  assert.deepEqual(
    ignored.map(({ file, warning }) => [file.split('/').at(-1), warning]),
    [
      ['config.yaml', 'line 4: unknown field "foo"'],
      ['a.conf', 'line 4: unknown field "authentication.anonymus"'],
    ],
  );
});

const refused: { name: string; given: Given; want: RegExp }[] = [
  {
    name: 'an empty file is rejected',
    given: { files: { 'config.yaml': '' } },
    want: /^failed to load kubelet config file, path: .*config\.yaml, error: is empty$/,
  },
  {
    name: 'an invalid drop-in is named',
    given: { files: { 'conf.d/a.conf': 'foo: 1' } },
    want: /^failed to load kubelet dropin file, path: .*conf\.d\/a\.conf, error: .*unknown field "foo"/,
  },
  {
    name: 'an invalid feature gate is named',
    given: { files: { 'config.yaml': 'featureGates: {Foo: true}' } },
    want: /^failed to set feature gates: unrecognized feature gate: Foo$/,
  },
];
for (const { name, given, want } of refused) {
  test(name, () => assert.throws(() => load(given), { name: 'ConfigurationError', message: want }));
}

test('a file that is too large, not text, a folder or missing is rejected', () => {
  const folder = mkdtempSync(join(tmpdir(), 'kubelet-config-'));
  const refuse = (name: string, want: RegExp): void => {
    const file = join(folder, name);
    assert.throws(() => loadConfiguration({ file, dropInDir: '', decoding: 'strict', applyFlags: (config) => config }), {
      name: 'ConfigurationError',
      message: want,
    });
  };
  try {
    writeFileSync(join(folder, 'huge'), Buffer.alloc(1024 * 1024 + 1, 'a'));
    writeFileSync(join(folder, 'binary'), Buffer.from([0xff, 0xfe, 0x00]));
    mkdirSync(join(folder, 'folder'));
    symlinkSync('loop', join(folder, 'loop'));
    refuse('huge', /is larger than 1048576 bytes/);
    refuse('binary', /is not text in UTF-8/);
    refuse('folder', /is not a regular file/);
    refuse('absent', /ENOENT/);
    refuse('loop', /ELOOP/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
