import assert from 'node:assert/strict';
import { test } from 'node:test';
import { conform } from '../../../../src/shared/kubernetes/schema/conform.ts';
import { pod as podSchema } from '../../../../src/shared/kubernetes/schema/pod.ts';
import { aPod } from '../../../support/pods/pods.ts';
import { table } from '../../../support/table.ts';

const app = { name: 'app', image: 'a', resources: {} };
const spec = (fields: object, container: object = {}) => ({
  metadata: { name: 'web' },
  spec: { containers: [{ ...app, ...container }], ...fields },
});

const rejected: readonly [what: string, pod: unknown, problem: string][] = [
  ['a number', 7, 'it must be an object'],
  ['a list', [], 'it must be an object'],
  ['containers that are not a list', { spec: { containers: {} } }, 'spec.containers must be a list'],
  ['a container that is a string', { spec: { containers: ['app'] } }, 'spec.containers.[0] must be an object'],
  ['env that is a number', spec({}, { env: 3 }), 'spec.containers.[0].env must be a list'],
  [
    'a port above 32 bits',
    spec({}, { ports: [{ containerPort: 2 ** 31 }] }),
    'spec.containers.[0].ports.[0].containerPort must be a 32-bit integer',
  ],
  [
    'a fractional grace period',
    spec({ terminationGracePeriodSeconds: 0.5 }),
    'spec.terminationGracePeriodSeconds must be a 64-bit integer',
  ],
  [
    'a grace period above 64 bits',
    spec({ terminationGracePeriodSeconds: 1e300 }),
    'spec.terminationGracePeriodSeconds must be a 64-bit integer',
  ],
  ['hostNetwork as a string', spec({ hostNetwork: 'true' }), 'spec.hostNetwork must be a boolean'],
  ['a label that is an object', { ...spec({}), metadata: { labels: { a: {} } } }, 'metadata.labels.a must be a string'],
  [
    'an invalid deletion time',
    { ...spec({}), metadata: { deletionTimestamp: 'soon' } },
    'metadata.deletionTimestamp must be a time as of RFC 3339',
  ],
  [
    'a restart count that is a string',
    { ...spec({}), status: { containerStatuses: [{ restartCount: '3' }] } },
    'status.containerStatuses.[0].restartCount must be a 32-bit integer',
  ],
  ['conditions that are an object', { ...spec({}), status: { conditions: {} } }, 'status.conditions must be a list'],
];
table('a field with a wrong type is rejected with its path', (row) => {
  for (const [what, pod, problem] of rejected) {
    row(`a pod with ${what}`, () => assert.equal(conform(podSchema, pod).problem, problem));
  }
  row('a pod with an invalid quantity', () =>
    assert.match(
      conform(podSchema, spec({}, { resources: { requests: { memory: 'much' } } })).problem ?? '',
      /^spec\.containers\.\[0\]\.resources\.requests\.memory must be a quantity: quantities must match/,
    ),
  );
  row('a pod with an unknown field of 100,000 levels', () => {
    const deep = JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`) as unknown;
    assert.equal(conform(podSchema, { ...spec({}), future: deep }).problem, 'future must be less than 64 levels deep');
  });
});

const changed: readonly [what: string, pod: object, want: object][] = [
  ['null is absent', spec({ initContainers: null, hostNetwork: null }), spec({})],
  ['a missing name is empty', spec({ volumes: [{}] }), spec({ volumes: [{ name: '' }] })],
  ['a null element is a zero value', spec({}, { args: ['a', null] }), spec({}, { args: ['a', ''] })],
  [
    'a number that a double cannot hold becomes the nearest safe integer',
    spec({ terminationGracePeriodSeconds: 2 ** 63 }),
    spec({ terminationGracePeriodSeconds: Number.MAX_SAFE_INTEGER }),
  ],
  ['a lone surrogate becomes a replacement character', spec({}, { args: ['\ud800'] }), spec({}, { args: ['\ufffd'] })],
  ['a quantity may be a number', spec({ overhead: { cpu: 2 } }), spec({ overhead: { cpu: '2' } })],
];
table('values that Go decodes differently are converted like in Go', (row) => {
  for (const [what, pod, want] of changed) row(what, () => assert.deepEqual(conform(podSchema, pod).value, want));
});

test('a conforming pod is not copied and keeps unknown fields', () => {
  const pod = { ...aPod(), future: { deep: [1] }, spec: { ...aPod().spec, future: null } };
  assert.equal(conform(podSchema, pod).value, pod);
});
