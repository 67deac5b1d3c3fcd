import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseConfigFile } from '../../../../src/main/config/read-config-file.ts';
import { table } from '../../../support/table.ts';

const header = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';
const strict = 'strict decoding error: ';

const refused: { name: string; text: string; want: string | RegExp }[] = [
  { name: 'an unknown field is reported with its line', text: `${header}foo: 1\n`, want: `${strict}line 3: unknown field "foo"` },
  {
    name: 'an unknown nested field is reported with its path',
    text: `${header}authentication:\n  anonymous:\n    enable: true\n`,
    want: `${strict}line 5: unknown field "authentication.anonymous.enable"`,
  },
  {
    name: 'an unknown field in a list is reported with its index',
    text: `${header}registerWithTaints:\n- key: a\n  effect: NoSchedule\n- kee: b\n`,
    want: `${strict}line 6: unknown field "registerWithTaints[1].kee"`,
  },
  {
    name: 'a field of another case is unknown',
    text: `${header}MaxPods: 3\n`,
    want: `${strict}line 3: unknown field "MaxPods"`,
  },
  { name: 'a duplicate field is reported', text: `${header}port: 1\nmaxPods: 2\nport: 3\n`, want: 'line 5: duplicate field "port"' },
  {
    name: 'a duplicate field in JSON is reported',
    text: '{"kind":"KubeletConfiguration","apiVersion":"kubelet.config.k8s.io/v1beta1",\n"evictionHard":{"a":"1",\n"a":"2"}}',
    want: 'line 3: duplicate field "evictionHard.a"',
  },
  {
    name: 'all problems are reported together, in the order of the file',
    text: `${header}healthzPort: x\nmaxPods: 1.5\nsyncFrequency: 10\nclusterDNS: 10.0.0.1\nsystemReserved: [cpu]\nenableServer: "true"\n`,
    want:
      `${strict}line 3: healthzPort must be a whole number of 32 bits, got "x", line 4: maxPods must be a whole number of 32 bits, got 1.5, ` +
      'line 5: syncFrequency must be a duration such as "20s", got 10, line 6: clusterDNS must be a list, got "10.0.0.1", ' +
      'line 7: systemReserved must be a map, got a list, line 8: enableServer must be true or false, got "true"',
  },
  {
    name: 'an invalid duration is reported with the reason',
    text: `${header}syncFrequency: 1d\n`,
    want: `${strict}line 3: syncFrequency must be a duration such as "20s", got "1d": time: unknown unit "d" in duration "1d"`,
  },
  {
    name: 'a number beyond 32 bits is rejected',
    text: `${header}maxPods: 3000000000\n`,
    want: /maxPods must be a whole number of 32 bits/,
  },
  { name: 'a struct can’t be a list', text: `${header}authentication: []\n`, want: /authentication must be a map of fields, got a list/ },
  {
    name: 'a file without kind is rejected',
    text: 'apiVersion: kubelet.config.k8s.io/v1beta1\n',
    want: /kind is missing, must be "KubeletConfiguration"/,
  },
  {
    name: 'another kind is rejected without a list of its fields',
    text: 'apiVersion: v1\nkind: Pod\nspec: {}\n',
    want: `${strict}line 1: apiVersion must be "kubelet.config.k8s.io/v1beta1", got "v1", line 2: kind must be "KubeletConfiguration", got "Pod"`,
  },
  { name: 'a list is not a configuration', text: '- a\n', want: 'must be a map of fields, got a list' },
  { name: 'a comment alone is not a configuration', text: '# nothing\n', want: 'must be a map of fields, got null' },
  { name: 'invalid YAML is reported with its line', text: `${header}a: [1\nb: 2\n`, want: /^line [34]: / },
  { name: 'too deep nesting is rejected', text: `${header}a: ${'['.repeat(2500)}`, want: /nested too deeply|line 3/ },
  {
    name: 'exploding aliases are rejected',
    text: `${header}a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\n`,
    want: /alias/i,
  },
  { name: 'a recursive alias is rejected', text: `${header}evictionHard: &a\n  x: *a\n`, want: /evictionHard\.x must be a string|alias/i },
];
table('an invalid configuration is rejected with the line and the field', (row) => {
  for (const { name, text, want } of refused) {
    row(name, () => assert.throws(() => parseConfigFile(text, 'strict'), { name: 'ConfigurationError', message: want }));
  }
});

test('YAML 1.1 is parsed as upstream does: yes is true', () => {
  assert.equal(parseConfigFile(`${header}serializeImagePulls: no\n`, 'strict').raw.serializeImagePulls, false);
});

test('anchors and merge keys may be used', () => {
  const { raw } = parseConfigFile(`${header}systemReserved: &r {cpu: "1"}\nkubeReserved:\n  <<: *r\n  memory: 1Gi\n`, 'strict');
  assert.deepEqual(raw.kubeReserved, { cpu: '1', memory: '1Gi' });
});

test('null means not set', () => {
  const { raw } = parseConfigFile(`${header}port: null\nhealthzPort: ~\nauthentication:\nclusterDNS:\n`, 'strict');
  assert.deepEqual([raw.port, raw.healthzPort, raw.authentication.anonymous.enabled, raw.clusterDNS], [10250, 10248, false, []]);
});

test('zero takes the default of a plain field, and stays in a field that is a pointer upstream', () => {
  const { raw } = parseConfigFile(
    `${header}port: 0\nsyncFrequency: 0s\nhealthzPort: 0\nregistryPullQPS: 0\noomScoreAdj: 0\nresolvConf: ""\n`,
    'strict',
  );
  assert.deepEqual([raw.port, raw.syncFrequency], [10250, 60_000]);
  assert.deepEqual([raw.healthzPort, raw.registryPullQPS, raw.oomScoreAdj, raw.resolvConf], [0, 0, 0, '']);
});

test('the flush frequency may be a number of nanoseconds', () => {
  const { raw } = parseConfigFile(`${header}logging: {flushFrequency: 5000000000}\n`, 'strict');
  assert.equal(raw.logging.flushFrequency, 5000);
});

test('quantities are kept in canonical form', () => {
  const { raw } = parseConfigFile(`${header}reservedMemory: [{numaNode: 0, limits: {memory: 1.5Gi, hugepages-2Mi: 0}}]\n`, 'strict');
  assert.deepEqual(raw.reservedMemory, [{ numaNode: 0, limits: { memory: '1536Mi', 'hugepages-2Mi': '0' } }]);
});

test('a timestamp in YAML stays text', () => {
  const { raw } = parseConfigFile(
    `${header}registerWithTaints: [{key: a, effect: NoSchedule, timeAdded: 2026-01-01T00:00:00Z}]\n`,
    'strict',
  );
  assert.equal(raw.registerWithTaints[0]?.timeAdded, '2026-01-01T00:00:00Z');
});

test('lenient decoding ignores unknown and duplicate fields, each with a warning', () => {
  const { wire, raw, warnings } = parseConfigFile(
    `${header}port: 1\nfoo: {a: 1}\nport: 3\nregisterWithTaints:\n- {key: a, effect: NoSchedule, kee: b}\n__proto__: 1\n`,
    'lenient',
  );
  assert.equal(raw.port, 3);
  assert.deepEqual(wire, { port: 3, registerWithTaints: [{ key: 'a', effect: 'NoSchedule' }] });
  assert.deepEqual(warnings, [
    'line 4: unknown field "foo"',
    'line 7: unknown field "registerWithTaints[0].kee"',
    'line 8: unknown field "__proto__"',
    'line 5: duplicate field "port"',
  ]);
});

test('lenient decoding ignores no wrong type', () => {
  assert.throws(() => parseConfigFile(`${header}foo: 1\nmaxPods: x\n`, 'lenient'), {
    name: 'ConfigurationError',
    message: /maxPods must be/,
  });
});

test('the first document counts, with a warning about the others, also when they are not YAML', () => {
  const { raw, warnings } = parseConfigFile(`${header}port: 1\n---\nport: [2\n`, 'strict');
  assert.equal(raw.port, 1);
  assert.deepEqual(warnings, ['line 4: a second document begins, and only the first one is read']);
});
