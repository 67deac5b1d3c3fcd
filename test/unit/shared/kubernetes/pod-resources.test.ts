import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container, PodSpec } from '../../../../src/shared/kubernetes/api.ts';
import { podLimits, podRequests, type PodResourcesOptions, type ResourceAmounts } from '../../../../src/shared/kubernetes/pod-resources.ts';
import { formatQuantity } from '../../../../src/shared/kubernetes/quantity.ts';
import { table } from '../../../support/table.ts';

type Amounts = Record<string, string>;
function asking(requests: Amounts, more: Partial<Container> = {}): Container {
  return { name: 'c', resources: { requests, limits: requests }, ...more };
}
const sidecar = { restartPolicy: 'Always' };

function text(amounts: ResourceAmounts): Amounts {
  return Object.fromEntries(Object.entries(amounts).map(([name, quantity]) => [name, formatQuantity(quantity)]));
}

/** Found by the fuzzer: properties of Object.prototype are not amounts. */
const inherited = { constructor: '1', toString: '2', hasOwnProperty: '3' };

const cases: readonly { name: string; spec: PodSpec; options?: PodResourcesOptions; want: Amounts; limits?: Amounts }[] = [
  {
    name: 'counts resources named like properties of Object.prototype',
    spec: { containers: [asking(inherited)], initContainers: [asking(inherited)], overhead: { constructor: '1' } },
    want: { ...inherited, constructor: '2' },
    limits: { ...inherited, constructor: '2' },
  },
  {
    name: 'is the sum of its containers',
    spec: { containers: [asking({ cpu: '100m' }), asking({ cpu: '200m', memory: '1Gi' })] },
    want: { cpu: '300m', memory: '1Gi' },
  },
  {
    name: 'is at least its greatest init container',
    spec: { containers: [asking({ cpu: '100m' })], initContainers: [asking({ cpu: '1' }), asking({ cpu: '2', memory: '1Mi' })] },
    want: { cpu: '2', memory: '1Mi' },
  },
  {
    name: 'counts sidecars with the containers and with later init containers',
    spec: {
      containers: [asking({ cpu: '1' })],
      initContainers: [asking({ cpu: '3' }), asking({ cpu: '2' }, sidecar), asking({ cpu: '5' })],
    },
    want: { cpu: '7' },
  },
  {
    name: 'is the pod-level value where one is set',
    spec: { containers: [asking({ cpu: '1', memory: '1Gi' })], resources: { requests: { cpu: '4' }, limits: { cpu: '5' } } },
    want: { cpu: '4', memory: '1Gi' },
    limits: { cpu: '5', memory: '1Gi' },
  },
  {
    name: 'is the sum of the containers when the pod level is skipped',
    spec: { containers: [asking({ cpu: '1' })], resources: { requests: { cpu: '4' } } },
    options: { skipPodLevel: true },
    want: { cpu: '1' },
  },
  {
    name: 'includes the overhead, but adds no missing limit',
    spec: { containers: [asking({ cpu: '1' })], overhead: { cpu: '250m', memory: '10Mi' } },
    want: { cpu: '1250m', memory: '10Mi' },
    limits: { cpu: '1250m' },
  },
  {
    name: 'excludes the overhead on request',
    spec: { containers: [asking({ cpu: '1' })], overhead: { cpu: '250m' } },
    options: { excludeOverhead: true },
    want: { cpu: '1' },
  },
];
table('the effective resources of a pod', (row) => {
  for (const { name, spec, options, want, limits } of cases) {
    row(`the effective resources of a pod: ${name}`, () => {
      assert.deepEqual(text(podRequests({ spec }, options)), want);
      assert.deepEqual(text(podLimits({ spec }, options)), limits ?? want);
    });
  }
});

test('onContainer receives each container with the sidecars that run with it', () => {
  const seen: [Amounts, string][] = [];
  podLimits(
    { spec: { containers: [asking({ cpu: '1' })], initContainers: [asking({ cpu: '2' }, sidecar), asking({ cpu: '3' })] } },
    { onContainer: (amounts, type) => seen.push([text(amounts), type]) },
  );
  assert.deepEqual(seen, [
    [{ cpu: '1' }, 'container'],
    [{ cpu: '2' }, 'initContainer'],
    [{ cpu: '5' }, 'initContainer'],
  ]);
});
