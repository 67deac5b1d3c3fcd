import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { kubeletConfiguration } from '../../../../../src/main/config/schema.ts';
import { FieldPath, type FieldProblem } from '../../../../../src/main/config/field-path.ts';
import { applyFlags, toKubeletFlags } from '../../../../../src/main/config/flags/apply-flags.ts';
import { flagTable, type FlagSpec } from '../../../../../src/main/config/flags/flag-table.ts';
import { flagTypes, type FlagTypeName } from '../../../../../src/main/config/flags/flag-types.ts';
import { parseFlags } from '../../../../../src/main/config/flags/parse-flags.ts';
import { table } from '../../../../support/table.ts';

const base = kubeletConfiguration.absent;
const before = JSON.stringify(base);

/** A value of each type that is not a default. */
const samples: Readonly<Record<FlagTypeName, string>> = {
  bool: '',
  int32: '77',
  int64: '77',
  text: 'sample',
  duration: '77s',
  quantity: '77',
  ip: '10.7.7.7',
  texts: 'a,b',
  map: 'cpu=1',
  mapEntry: 'a=1',
  thresholds: 'memory.available<1Gi',
  labels: 'a=b',
  gates: 'CRIListStreaming=true',
  headers: 'a:b',
  taints: 'a=b:NoSchedule',
  reservedMemory: '0:memory=1Gi',
  verbosity: '7',
  vmodule: 'a=1',
  version: 'raw',
};

function sampleOf({ type, field = '' }: FlagSpec): string {
  const isOn = field.split('.').reduce<unknown>((at, name) => (at as Record<string, unknown> | undefined)?.[name], base) === true;
  return flagTypes[type].helpName === '' ? String(!isOn) : samples[type];
}

table('a flag sets its field to a value of the field’s type', (row) => {
  for (const spec of flagTable.filter(({ field }) => field !== undefined)) {
    row(`--${spec.name} sets ${spec.field} to a value of the field’s type`, () => {
      const { values } = parseFlags([`--${spec.name}=${sampleOf(spec)}`]);
      const changed = applyFlags(base, values);
      assert.notDeepEqual(changed, base);
      const problems: FieldProblem[] = [];
      const again = kubeletConfiguration.read(kubeletConfiguration.write(changed), new FieldPath(problems));
      assert.deepEqual(problems, []);
      assert.deepEqual(again, changed);
    });
  }
  row('the input configuration is not changed', () => assert.equal(JSON.stringify(base), before));
});

test('feature gates of flags override those of the configuration by name', () => {
  const { values } = parseFlags(['--feature-gates=A=false']);
  assert.deepEqual(applyFlags({ ...base, featureGates: { A: true, B: true } }, values).featureGates, { A: false, B: true });
});

test('patterns of --vmodule are appended to those of the configuration', () => {
  const { values } = parseFlags(['--vmodule=b=2']);
  const given = { ...base, logging: { ...base.logging, vmodule: [{ filePattern: 'a', verbosity: 1 }] } };
  assert.deepEqual(applyFlags(given, values).logging.vmodule, [
    { filePattern: 'a', verbosity: 1 },
    { filePattern: 'b', verbosity: 2 },
  ]);
});

test('settings that exist only as flags have defaults', () => {
  assert.equal(toKubeletFlags(new Map()).rootDirectory, '/var/lib/kubelet');
  const { values } = parseFlags(['--root-dir=/a', '--exit-on-lock-contention', '--minimum-container-ttl-duration=1m', '--node-labels=a=b']);
  const flags = toKubeletFlags(values);
  assert.deepEqual(
    [flags.rootDirectory, flags.exitOnLockContention, flags.minimumContainerTTL, flags.nodeLabels],
    ['/a', true, 60_000, { a: 'b' }],
  );
});

test('the root folder becomes absolute and normalized; an empty one stays empty and is rejected later', () => {
  const rootOf = (given: string) => toKubeletFlags(new Map([['root-dir', given]])).rootDirectory;
  assert.equal(rootOf('/var/lib//kubelet/'), '/var/lib/kubelet');
  assert.equal(rootOf('some/../kubelet'), join(process.cwd(), 'kubelet'));
  assert.equal(rootOf(''), '');
});

test('every flag sets a field, a setting, or nothing', () => {
  const nothing = flagTable.filter(({ field, setting }) => field === undefined && setting === undefined).map(({ name }) => name);
  const meant = ['config', 'config-dir', 'help', 'version'];
  assert.deepEqual(
    nothing.filter((name) => !meant.includes(name)),
    [],
  );
});
