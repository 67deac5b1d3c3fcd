import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PodObject, PodObjectResult } from '../../../../../../src/shared/contracts/pod-objects.ts';
import type { Container, EnvVar } from '../../../../../../src/shared/kubernetes/api.ts';
import { parseEnvFile } from '../../../../../../src/workers/pod-sync/pod/runtime-config/env-file.ts';
import { makeEnvironment } from '../../../../../../src/workers/pod-sync/pod/runtime-config/make-environment.ts';
import type { EnvironmentObjects } from '../../../../../../src/workers/pod-sync/pod/runtime-config/index.ts';
import { aContainer, aPod } from '../../../../../support/pods/pods.ts';
import { aNode, someSettings } from '../../../../../support/pods/runtime-config-inputs.ts';
import { table } from '../../../../../support/table.ts';

const metadata = {
  labels: { b: 'two', a: 'one "1"' },
  annotations: { 'example.com/note': 'hi', z: 'multi\nline' },
};
const limited = aContainer({
  name: 'limited',
  resources: { limits: { cpu: '1500m', memory: '64Mi', 'hugepages-2Mi': '4Mi' }, requests: { cpu: '250m', memory: '32Mi' } },
});
const init = aContainer({ name: 'init' });

interface Fields {
  readonly podIPs?: readonly string[];
  readonly hostNetwork?: boolean;
  readonly hostIPs?: readonly string[];
  readonly envFiles?: ReadonlyMap<string, string>;
  readonly podLimits?: Record<string, string>;
  readonly objects?: Partial<EnvironmentObjects>;
  readonly annotations?: Record<string, string>;
}

const noClient: PodObjectResult = { outcome: 'failed', failure: { reason: 'NoClient', message: 'no client' } };
const standalone: EnvironmentObjects = {
  services: noClient,
  configMaps: new Map([['cm', noClient]]),
  secrets: new Map([['s', noClient]]),
};

function parsed({ env = [] }: Container, files: ReadonlyMap<string, string>) {
  const names = new Set(env.flatMap(({ valueFrom }) => valueFrom?.fileKeyRef?.key ?? []));
  return new Map([...files].map(([key, content]) => [key, parseEnvFile(content, names)]));
}

function environment(container: Partial<Container>, fields: Fields = {}): Record<string, string> {
  const own = aContainer(container);
  const { podIPs = ['10.0.0.7', 'fd00::7'], hostNetwork = false, hostIPs = aNode.hostIPs, envFiles, podLimits, annotations } = fields;
  const objects = { ...standalone, ...fields.objects };
  const pod = aPod({
    metadata: { ...metadata, annotations: annotations ?? metadata.annotations },
    spec: {
      containers: [own, limited],
      initContainers: [init],
      hostNetwork,
      nodeName: 'node-1',
      serviceAccountName: 'default',
      ...(podLimits ? { resources: { limits: podLimits } } : {}),
    },
  });
  const node = { ...aNode, hostIPs };
  const input = {
    pod,
    container: own,
    node,
    settings: someSettings,
    podIPs,
    objects,
    ...(envFiles ? { envFiles: parsed(own, envFiles) } : {}),
  };
  return Object.fromEntries(makeEnvironment(input).map(({ name, value }) => [name, value]));
}

const field = (fieldPath: string): EnvVar => ({ name: 'V', valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath } } });
const resource = (name: string, containerName?: string, divisor?: string): EnvVar => ({
  name: 'V',
  valueFrom: { resourceFieldRef: { resource: name, ...(containerName ? { containerName } : {}), ...(divisor ? { divisor } : {}) } },
});

const references: readonly [name: string, variable: EnvVar, want: string, fields?: Fields][] = [
  ['metadata.name', field('metadata.name'), 'web'],
  ['metadata.namespace', field('metadata.namespace'), 'default'],
  ['metadata.uid', field('metadata.uid'), 'uid-web'],
  ['metadata.labels, sorted by key', field('metadata.labels'), 'a="one \\"1\\""\nb="two"'],
  ["metadata.labels['b']", field("metadata.labels['b']"), 'two'],
  ["metadata.labels['none']", field("metadata.labels['none']"), ''],
  ["metadata.labels['constructor']", field("metadata.labels['constructor']"), ''],
  ["metadata.annotations['z']", field("metadata.annotations['z']"), 'multi\nline'],
  ["metadata.annotations['example.com/note']", field("metadata.annotations['example.com/note']"), 'hi'],
  ['metadata.annotations', field('metadata.annotations'), 'example.com/note="hi"\nz="multi\\nline"'],
  ['spec.nodeName', field('spec.nodeName'), 'node-1'],
  ['spec.serviceAccountName', field('spec.serviceAccountName'), 'default'],
  ['status.hostIP', field('status.hostIP'), '192.168.1.5'],
  ['status.hostIPs', field('status.hostIPs'), '192.168.1.5,fd00::5', { hostIPs: ['192.168.1.5', 'fd00::5'] }],
  ['status.podIP', field('status.podIP'), '10.0.0.7'],
  ['status.podIPs', field('status.podIPs'), '10.0.0.7,fd00::7'],
  ['status.podIPs on a node that prefers IPv6', field('status.podIPs'), 'fd00::7,10.0.0.7', { hostIPs: ['fd00::5'] }],
  ['status.podIP of a pod in the host’s network', field('status.podIP'), '192.168.1.5', { podIPs: [], hostNetwork: true }],
  ['status.podIP without an IP', field('status.podIP'), '', { podIPs: [] }],
  ['limits.cpu without a limit: the node’s allocatable amount', resource('limits.cpu'), '4'],
  ['limits.cpu in millis', resource('limits.cpu', undefined, '1m'), '3500'],
  [
    'limits.cpu without a limit, in a pod with a pod-level limit',
    resource('limits.cpu', undefined, '1m'),
    '700',
    { podLimits: { cpu: '700m' } },
  ],
  ['limits.memory without a limit', resource('limits.memory'), '3000000000'],
  ['limits.ephemeral-storage without a limit', resource('limits.ephemeral-storage', undefined, '1Gi'), '84'],
  ['requests.cpu without a request', resource('requests.cpu'), '0'],
  ['limits.cpu of another container', resource('limits.cpu', 'limited'), '2'],
  ['limits.memory of another container', resource('limits.memory', 'limited', '1Mi'), '64'],
  ['requests.cpu in millis', resource('requests.cpu', 'limited', '1m'), '250'],
  ['requests.memory in kilobytes, rounded up', resource('requests.memory', 'limited', '1k'), '33555'],
  ['limits of huge pages', resource('limits.hugepages-2Mi', 'limited', '1Mi'), '4'],
  ['limits of an init container have no defaults', resource('limits.cpu', 'init'), '0'],
];
table('env from references', (row) => {
  for (const [name, variable, want, fields] of references) {
    row(`env from ${name}`, () => assert.equal(environment({ env: [variable] }, fields)['V'], want));
  }
});

const failures: readonly [name: string, container: Partial<Container>, message: RegExp][] = [
  [
    'a config map key',
    { env: [{ name: 'V', valueFrom: { configMapKeyRef: { name: 'cm', key: 'k', optional: true } } }] },
    /couldn't get configMap default\/cm, no kubeClient defined/,
  ],
  ['a secret key', { env: [{ name: 'V', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } }] }, /couldn't get secret default\/s/],
  ['a whole config map', { envFrom: [{ configMapRef: { name: 'cm' } }] }, /couldn't get configMap default\/cm/],
  ['a whole secret', { envFrom: [{ secretRef: { name: 's' } }] }, /couldn't get secret default\/s/],
  ['an unknown field', { env: [field('spec.restartPolicy')] }, /unsupported fieldPath: spec.restartPolicy/],
  ['an unsupported subscript', { env: [field("metadata.name['x']")] }, /does not support subscript/],
  ['an unknown resource', { env: [resource('limits.gpu')] }, /unsupported container resource : limits.gpu/],
  ['an unknown container', { env: [resource('limits.cpu', 'unknown')] }, /container unknown not found/],
  [
    'a file that was not read',
    { env: [{ name: 'V', valueFrom: { fileKeyRef: { volumeName: 'v', path: 'env', key: 'K' } } }] },
    /cannot find the volume "v"/,
  ],
];
table('env from an unavailable reference fails with CreateContainerConfigError', (row) => {
  for (const [name, container, message] of failures) {
    row(`env from ${name} fails with CreateContainerConfigError`, () => {
      assert.throws(() => environment(container), { reason: 'CreateContainerConfigError', message });
    });
  }
});

test('a variable may refer to earlier variables only', () => {
  const env = [
    { name: 'A', value: 'a' },
    { name: 'B', value: '$(A)-$(C)-$$(A)' },
    { name: 'C', value: 'c' },
    { name: 'A', value: '$(A)2' },
    { name: 'EMPTY' },
  ];
  assert.deepEqual(environment({ env }), { A: 'a2', B: 'a-$(C)-$(A)', C: 'c', EMPTY: '' });
});

const file = `# comment
A='one'
  B='two words' # kept
C='multi
line'
D= 'assigned nothing'
`;
const ref = (key: string, optional = false): EnvVar => ({
  name: 'V',
  valueFrom: { fileKeyRef: { volumeName: 'v', path: 'env', key, optional } },
});
for (const [key, want] of [
  ['A', 'one'],
  ['B', 'two words'],
  ['C', 'multi\nline'],
] as const) {
  test(`env from a file: ${key}`, () =>
    assert.equal(environment({ env: [ref(key)] }, { envFiles: new Map([['v/env', file]]) })['V'], want));
}
test('env from a file: a missing key is an error, unless it is optional', () => {
  const envFiles = new Map([['v/env', file]]);
  assert.deepEqual(environment({ env: [ref('X', true)] }, { envFiles }), {});
  assert.throws(() => environment({ env: [ref('X')] }, { envFiles }), /environment variable key "X" not found in file "env"/);
  assert.throws(() => environment({ env: [ref('D')] }, { envFiles }), /not found/);
});
table('env from an invalid file is rejected', (row) => {
  for (const [content, message] of [
    ['A', "line 1: missing '='"],
    ["='x'", 'line 1: empty variable name'],
    ["A ='x'", "line 1: whitespace before '=' is not allowed"],
    ['\nA=x', 'line 2: value must be enclosed in single quotes'],
    ["A='x'y", 'line 1: unexpected content after closing quote'],
    ["\nA='x\ny", 'unclosed single quote'],
  ] as const) {
    row(`env from an invalid file is rejected: ${message}`, () => {
      assert.throws(
        () => environment({ env: [ref('A')] }, { envFiles: new Map([['v/env', content]]) }),
        (err: Error) => err.message.includes(message),
      );
    });
  }
});

test('a malicious environment file is parsed in linear time', () => {
  const endless = new Map([['v/env', `A='${'\n'.repeat(200_000)}`]]);
  assert.throws(() => environment({ env: [ref('A')] }, { envFiles: endless }), /line 1: unclosed single quote/);
  const long = new Map([['v/env', "A='x'\n".repeat(30_000)]]);
  const env = Array.from({ length: 2000 }, () => ref('X', true));
  assert.deepEqual(environment({ env }, { envFiles: long }), {});
});
test('env from a file: assignments before an invalid line are valid', () => {
  const envFiles = new Map([['v/env', "A='one'\nA='two'\nbroken"]]);
  assert.deepEqual(environment({ env: [ref('A')] }, { envFiles }), { V: 'one' });
  assert.throws(() => environment({ env: [ref('B')] }, { envFiles }), /line 3: missing '='/);
});
test('a too large environment is rejected', () => {
  const envFrom = Array.from({ length: 40 }, (_, index) => ({ prefix: `P${index}_`, configMapRef: { name: 'cm' } }));
  const objects = { configMaps: new Map([['cm', found({ kind: 'ConfigMap', data: { k: 'x'.repeat(500_000) }, binaryData: {} })]]) };
  assert.throws(() => environment({ envFrom }, { objects }), /container "app": the environment: more than 6291456 bytes/);
});

const found = (value: PodObject): PodObjectResult => ({ outcome: 'value', value });
const failed = (reason: string, message: string): PodObjectResult => ({ outcome: 'failed', failure: { reason, message } });
const base64 = (text: string) => Buffer.from(text).toString('base64');
const apiObjects: Partial<EnvironmentObjects> = {
  configMaps: new Map([
    ['cm', found({ kind: 'ConfigMap', data: { 'a.b': '1', c: 'two' }, binaryData: { bin: base64('x') } })],
    ['gone', failed('NotFound', 'configmap "gone" not found')],
    ['slow', failed('NotSynced', 'failed to sync configmap cache: timed out waiting for the condition')],
  ]),
  secrets: new Map([
    ['s', found({ kind: 'Secret', uid: 'u', type: 'Opaque', data: { password: base64('pâss'), raw: '/wA=' } })],
    ['gone', failed('NotFound', 'secret "gone" not found')],
  ]),
};
const keyRef = (kind: 'configMapKeyRef' | 'secretKeyRef', name: string, key: string, optional?: boolean): EnvVar => ({
  name: 'V',
  valueFrom: { [kind]: { name, key, ...(optional === undefined ? {} : { optional }) } },
});
table('env from API objects', (row) => {
  for (const [what, container, want] of [
    ['a config map key', { env: [keyRef('configMapKeyRef', 'cm', 'a.b')] }, { V: '1' }],
    ['a secret key', { env: [keyRef('secretKeyRef', 's', 'password')] }, { V: 'pâss' }],
    ['an optional missing key', { env: [keyRef('secretKeyRef', 's', 'none', true)] }, {}],
    ['an optional missing object', { env: [keyRef('configMapKeyRef', 'gone', 'k', true)] }, {}],
    ['a whole config map, without its binary data', { envFrom: [{ configMapRef: { name: 'cm' } }] }, { 'a.b': '1', c: 'two' }],
    ['a whole config map with a prefix', { envFrom: [{ prefix: 'P_', configMapRef: { name: 'cm' } }] }, { 'P_a.b': '1', P_c: 'two' }],
    ['an optional missing secret', { envFrom: [{ secretRef: { name: 'gone', optional: true } }] }, {}],
    [
      'variables that override those of envFrom and refer to them',
      {
        envFrom: [{ configMapRef: { name: 'cm' } }],
        env: [
          { name: 'a.b', value: 'own' },
          { name: 'W', value: '$(c)!' },
        ],
      },
      { 'a.b': 'own', c: 'two', W: 'two!' },
    ],
  ] as const) {
    row(`env from ${what}`, () => assert.deepEqual(environment(container, { objects: apiObjects }), want));
  }
});
table('env from missing API objects is an error', (row) => {
  for (const [what, container, message] of [
    ['a missing key of a config map', { env: [keyRef('configMapKeyRef', 'cm', 'k')] }, "couldn't find key k in ConfigMap default/cm"],
    ['a missing key of a secret', { env: [keyRef('secretKeyRef', 's', 'k')] }, "couldn't find key k in Secret default/s"],
    ['a missing secret', { env: [keyRef('secretKeyRef', 'gone', 'k')] }, 'secret "gone" not found'],
    ['a missing config map', { envFrom: [{ configMapRef: { name: 'gone' } }] }, 'configmap "gone" not found'],
    [
      'an optional config map that is not synced yet',
      { envFrom: [{ configMapRef: { name: 'slow', optional: true } }] },
      'failed to sync configmap cache: timed out waiting for the condition',
    ],
  ] as const) {
    row(`env from ${what} is an error`, () => {
      const make = () => environment(container, { objects: apiObjects });
      assert.throws(make, { reason: 'CreateContainerConfigError', message });
    });
  }
});

test('a secret that is not valid UTF-8 is passed to the container unchanged', () => {
  const pod = aPod();
  const container = aContainer({ env: [keyRef('secretKeyRef', 's', 'raw')] });
  const objects = { ...standalone, ...apiObjects };
  const [variable] = makeEnvironment({ pod, container, node: aNode, settings: someSettings, podIPs: [], objects });
  assert.deepEqual([...(variable?.bytes ?? [])], [255, 0]);
});

test('the variables of services come last, and other variables may refer to them', () => {
  const services = found({
    kind: 'Services',
    services: [
      {
        name: 'my-db',
        namespace: 'default',
        clusterIP: 'fd00::5',
        ports: [
          { name: '', port: 5432, protocol: 'TCP' },
          { name: 'dns-udp', port: 53, protocol: 'UDP' },
        ],
      },
    ],
  });
  const env = [
    { name: 'URL', value: 'pg://$(MY_DB_SERVICE_HOST)' },
    { name: 'MY_DB_SERVICE_PORT', value: '1' },
  ];
  assert.deepEqual(environment({ env }, { objects: { services } }), {
    URL: 'pg://fd00::5',
    MY_DB_SERVICE_PORT: '1',
    MY_DB_SERVICE_HOST: 'fd00::5',
    MY_DB_SERVICE_PORT_DNS_UDP: '53',
    MY_DB_PORT: 'tcp://[fd00::5]:5432',
    MY_DB_PORT_5432_TCP: 'tcp://[fd00::5]:5432',
    MY_DB_PORT_5432_TCP_PROTO: 'tcp',
    MY_DB_PORT_5432_TCP_PORT: '5432',
    MY_DB_PORT_5432_TCP_ADDR: 'fd00::5',
    MY_DB_PORT_53_UDP: 'udp://[fd00::5]:53',
    MY_DB_PORT_53_UDP_PROTO: 'udp',
    MY_DB_PORT_53_UDP_PORT: '53',
    MY_DB_PORT_53_UDP_ADDR: 'fd00::5',
  });
});

test('a pod from the API server waits for the services, and a static pod does not', () => {
  const services = failed('NotSynced', 'services have not yet been read at least once, cannot construct envvars');
  assert.throws(() => environment({}, { objects: { services } }), /services have not yet been read at least once/);
  assert.deepEqual(environment({}, { objects: { services }, annotations: { 'kubernetes.io/config.source': 'file' } }), {});
});
