import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aManifest, decode, decodedPod, errorsOf } from '../../../../support/pods/manifests.ts';
import { table } from '../../../../support/table.ts';

test('a static pod gets its name, namespace, node, hash, toleration and phase', () => {
  const { metadata, spec, status } = decodedPod(aManifest());
  assert.equal(metadata.name, 'web-node-1');
  assert.equal(metadata.namespace, 'default');
  assert.match(metadata.uid, /^[0-9a-f]{32}$/);
  assert.deepEqual(metadata.annotations, { 'kubernetes.io/config.hash': metadata.uid });
  assert.equal(spec.nodeName, 'node-1');
  assert.deepEqual(spec.tolerations, [{ operator: 'Exists', effect: 'NoExecute' }]);
  assert.deepEqual(status, { phase: 'Pending' });
});

test('a pod from a URL gets no toleration', () => {
  assert.equal(decode(aManifest(), 'http', 'http://host/pod').pods[0]?.spec.tolerations, undefined);
});

test('the toleration is not added twice', () => {
  const tolerations = [{ operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 5 }];
  assert.deepEqual(decodedPod(aManifest({ spec: { tolerations } })).spec.tolerations, [{ operator: 'Exists', effect: 'NoExecute' }]);
});

test('a UID in the manifest is kept', () => {
  assert.equal(decodedPod(aManifest({ metadata: { uid: 'my-uid' } })).metadata.uid, 'my-uid');
});

test('a status in the manifest is ignored', () => {
  assert.deepEqual(decodedPod({ ...aManifest(), status: { phase: 'Running', podIP: 5 } }).status, { phase: 'Pending' });
});

const uid = (manifest: unknown, source?: 'file' | 'http', origin?: string) => decode(manifest, source, origin).pods[0]?.metadata.uid;

test('equal pods have equal UIDs, regardless of their notation', () => {
  const yaml =
    'kind: Pod\napiVersion: v1\nspec:\n  containers:\n  - {image: "registry.example/web:1", name: main, stdin: no}\nmetadata: {name: web}\n';
  assert.equal(uid(yaml), uid(aManifest()));
});

const otherUIDs: readonly [what: string, uid: string | undefined][] = [
  ['content', uid(aManifest({ container: { image: 'registry.example/web:2' } }))],
  ['path', uid(aManifest(), 'file', '/manifests/other.yaml')],
  ['source', uid(aManifest(), 'http', '/manifests/web.yaml')],
];
for (const [what, other] of otherUIDs) {
  test(`a UID changes with the pod's ${what}`, () => {
    assert.ok(other);
    assert.notEqual(other, uid(aManifest()));
  });
}

const unreadable: readonly [what: string, manifest: unknown, why: string][] = [
  ['nothing', '', 'not an object'],
  ['a list', '- a', 'not an object'],
  ['no kind', { apiVersion: 'v1' }, "Object 'Kind' is missing"],
  ['no version', { kind: 'Pod' }, "Object 'apiVersion' is missing"],
  ['another kind', { apiVersion: 'apps/v1', kind: 'Deployment' }, 'a Pod of v1 is needed, not a "Deployment" of "apps/v1"'],
  ['a PodList', { apiVersion: 'v1', kind: 'PodList', items: [] }, 'a file must hold a Pod, not a PodList'],
];
table('a file without a pod is rejected', (row) => {
  for (const [what, manifest, why] of unreadable) {
    row(`a file with ${what} is rejected`, () => {
      assert.deepEqual(decode(manifest), { pods: [], errors: [`/manifests/web.yaml: couldn't parse as pod: ${why}`], readable: false });
    });
  }
});

test('a pod needs a name', () => {
  assert.deepEqual(errorsOf(aManifest({ metadata: { name: '' } })), ['name is needed for the pod']);
});

test('a list from a URL yields its valid pods and the errors of the others', () => {
  const items = [aManifest(), aManifest({ container: { image: '' } }), null];
  const { pods, errors, readable } = decode({ apiVersion: 'v1', kind: 'PodList', items }, 'http', 'http://user:secret@host/pods');
  assert.deepEqual(
    pods.map(({ metadata }) => metadata.name),
    ['web-node-1'],
  );
  assert.deepEqual(errors, [
    'http://host/pods: invalid pod: items[1].spec.containers[0].image: Required value',
    'http://host/pods: invalid pod: items[2].not an object',
  ]);
  assert.equal(readable, true);
});

test('an empty list from a URL means no pods', () => {
  assert.deepEqual(decode({ apiVersion: 'v1', kind: 'PodList' }, 'http'), { pods: [], errors: [], readable: true });
});

test('a manifest with a million errors shows a hundred', () => {
  const ports = Array.from({ length: 1000 }, () => ({ containerPort: 'http' }));
  const errors = errorsOf(aManifest({ container: { ports } }));
  assert.equal(errors.length, 101);
  assert.match(errors[100] ?? '', /and 900 more errors$/);
});

test('a manifest with too many values is rejected', () => {
  assert.deepEqual(errorsOf(aManifest({ container: { args: Array(100_001).fill('x') } })), ['more than 100000 values, which no pod needs']);
});

const wrongTypes: readonly [what: string, manifest: unknown, error: string][] = [
  ['number for text', aManifest({ container: { image: 5 } }), 'spec.containers[0].image: Invalid value: 5: must be a string'],
  [
    'boolean in the environment',
    aManifest({ container: { env: [{ name: 'A', value: true }] } }),
    'spec.containers[0].env[0].value: Invalid value: true: must be a string',
  ],
  [
    'text for a number',
    aManifest({ spec: { terminationGracePeriodSeconds: '30' } }),
    'spec.terminationGracePeriodSeconds: Invalid value: "30": must be a 64-bit integer',
  ],
  ['fraction for an integer', aManifest({ spec: { priority: 1.5 } }), 'spec.priority: Invalid value: 1.5: must be a 32-bit integer'],
  [
    'number above 32 bits',
    aManifest({ spec: { priority: 2 ** 31 } }),
    'spec.priority: Invalid value: 2147483648: must be a 32-bit integer',
  ],
  ['text for a boolean', aManifest({ spec: { hostNetwork: 'true' } }), 'spec.hostNetwork: Invalid value: "true": must be a boolean'],
  ['object for a list', aManifest({ spec: { containers: {} } }), 'spec.containers: Invalid value: {}: must be a list'],
  ['list for an object', aManifest({ metadata: { labels: [] } }), 'metadata.labels: Invalid value: []: must be an object'],
  ['text for an object', { ...aManifest(), spec: 'x' }, 'spec: Invalid value: "x": must be an object'],
  [
    'an invalid quantity',
    aManifest({ container: { resources: { limits: { memory: '1Gk' } } } }),
    'spec.containers[0].resources.limits[memory]: Invalid value: "1Gk": unable to parse quantity\'s suffix',
  ],
  [
    'an invalid time',
    aManifest({ metadata: { deletionTimestamp: 'soon' } }),
    'metadata.deletionTimestamp: Invalid value: "soon": must be a time as of RFC 3339',
  ],
  [
    'NUL in text',
    aManifest({ container: { command: ['a\0b'] } }),
    'spec.containers[0].command[0]: Invalid value: "a\\x00b": must not contain NUL',
  ],
  [
    'a key that reaches the prototype',
    '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","labels":{"__proto__":"x"}},"spec":{}}',
    'metadata.labels: Invalid value: "__proto__": not accepted as a key',
  ],
];
table('a field of the wrong type is an error with its path', (row) => {
  for (const [what, manifest, error] of wrongTypes) {
    row(`a pod with ${what} is an error with its path`, () => assert.deepEqual(errorsOf(manifest), [error]));
  }
});

test('unknown fields, nulls and empty values are dropped', () => {
  const pod = decodedPod(aManifest({ spec: { hostNetwork: false, nodeSelector: {}, volumes: null, made: 'up', affinity: null } }));
  for (const field of ['hostNetwork', 'nodeSelector', 'volumes', 'made', 'affinity']) assert.ok(!(field in pod.spec), field);
});

test('quantities become canonical, including numbers', () => {
  const resources = { limits: { cpu: 0.5, memory: '1024Mi' }, requests: { cpu: 0.1 } };
  assert.deepEqual(decodedPod(aManifest({ container: { resources } })).spec.containers[0]?.resources, {
    limits: { cpu: '500m', memory: '1Gi' },
    requests: { cpu: '100m', memory: '1Gi' },
  });
});
