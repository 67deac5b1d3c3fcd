import assert from 'node:assert/strict';
import { test } from 'node:test';
import { initialNode, type NodeIdentity } from '../../../../../src/main/node/registration/initial-node.ts';
import { architecture, type Node } from '../../../../../src/main/node/node-object.ts';
import { reconcileNode, withRequiredLabels } from '../../../../../src/main/node/registration/reconcile-node.ts';
import { table } from '../../../../support/table.ts';

const identity: NodeIdentity = {
  nodeName: 'n1',
  hostname: 'n1',
  labels: {},
  taints: [],
  providerID: '',
  externalCloudProvider: false,
  enableControllerAttachDetach: true,
};
const attach = 'volumes.kubernetes.io/controller-managed-attach-detach';

test('a new node has labels of its platform and the attach-detach annotation', () => {
  assert.deepEqual(initialNode(identity), {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name: 'n1',
      labels: {
        'kubernetes.io/hostname': 'n1',
        'kubernetes.io/os': 'linux',
        'kubernetes.io/arch': architecture,
        'beta.kubernetes.io/os': 'linux',
        'beta.kubernetes.io/arch': architecture,
      },
      annotations: { [attach]: 'true' },
    },
    spec: {},
  });
});

test('a node with an external cloud provider has the uninitialized taint in addition to the configured ones', () => {
  const taint = { key: 'a', value: '', effect: 'NoExecute', timeAdded: null };
  const { spec } = initialNode({ ...identity, taints: [taint], providerID: 'cloud://1', externalCloudProvider: true });
  assert.deepEqual(spec, {
    providerID: 'cloud://1',
    taints: [
      { key: 'a', effect: 'NoExecute' },
      { key: 'node.cloudprovider.kubernetes.io/uninitialized', value: 'true', effect: 'NoSchedule' },
    ],
  });
});

test('configured labels override the default ones', () => {
  const { labels } = initialNode({ ...identity, labels: { 'kubernetes.io/hostname': 'other', zone: 'z' } }).metadata;
  assert.deepEqual([labels?.['kubernetes.io/hostname'], labels?.['zone']], ['other', 'z']);
});

const status = { capacity: { cpu: '2', 'hugepages-2Mi': '0' }, allocatable: { cpu: '2', 'hugepages-2Mi': '0' } };
const initial: Node = { ...initialNode({ ...identity, labels: { custom: 'new', 'topology.kubernetes.io/zone': 'z2' } }), status };
const existing: Node = {
  ...initial,
  metadata: { ...initial.metadata, uid: 'u1', labels: { ...initial.metadata.labels, custom: 'old', foreign: 'x' } },
  spec: { unschedulable: true, taints: [{ key: 'foreign', effect: 'NoSchedule' }] },
};
const none = { resetExtendedResources: false };

test('an up-to-date node is returned unchanged', () => {
  assert.equal(reconcileNode(initial, existing, none), existing);
});

const cases: { name: string; existing: Node; initial?: Node; reset?: boolean; want: (node: Node) => unknown; equal: unknown }[] = [
  {
    name: 'reconciled labels are updated, and other labels stay',
    existing: {
      ...existing,
      metadata: { ...existing.metadata, labels: { ...existing.metadata.labels, 'topology.kubernetes.io/zone': 'z1' } },
    },
    want: ({ metadata: { labels } }) => [labels?.['topology.kubernetes.io/zone'], labels?.['custom'], labels?.['foreign']],
    equal: ['z2', 'old', 'x'],
  },
  {
    name: 'taints and a cordon stay',
    existing: { ...existing, metadata: { ...existing.metadata, annotations: {} } },
    want: ({ spec }) => spec,
    equal: existing.spec,
  },
  {
    name: 'the attach-detach annotation is added',
    existing: { ...existing, metadata: { ...existing.metadata, annotations: { foreign: 'a' } } },
    want: ({ metadata }) => metadata.annotations,
    equal: { foreign: 'a', [attach]: 'true' },
  },
  {
    name: 'the attach-detach annotation is removed',
    existing,
    initial: { ...initial, metadata: { ...initial.metadata, annotations: {} } },
    want: ({ metadata }) => metadata.annotations,
    equal: {},
  },
  {
    name: 'extended resources of a reinstalled node are zeroed',
    existing: { ...existing, status: { capacity: { ...status.capacity, 'example.com/gpu': '2' }, allocatable: status.allocatable } },
    reset: true,
    want: (node) => [node.status?.capacity, node.status?.allocatable],
    equal: [
      { ...status.capacity, 'example.com/gpu': '0' },
      { ...status.allocatable, 'example.com/gpu': '0' },
    ],
  },
  {
    name: 'huge page sizes that the host lacks are removed, and the others are updated',
    existing: {
      ...existing,
      status: { capacity: { cpu: '2', 'hugepages-1Gi': '4Gi' }, allocatable: { cpu: '2', 'hugepages-1Gi': '4Gi' } },
    },
    want: (node) => [node.status?.capacity, node.status?.allocatable],
    equal: [
      { cpu: '2', 'hugepages-2Mi': '0' },
      { cpu: '2', 'hugepages-2Mi': '0' },
    ],
  },
  {
    name: 'a node without a capacity gets the kubelet’s',
    existing: { ...existing, status: {} },
    want: (node) => node.status,
    equal: status,
  },
];
table('an existing node is reconciled', (row) => {
  for (const { name, existing: before, initial: wanted = initial, reset = false, want, equal } of cases) {
    row(name, () => assert.deepEqual(want(reconcileNode(wanted, before, { resetExtendedResources: reset })), equal));
  }
});

test('required labels are restored', () => {
  const { 'kubernetes.io/os': _, ...labels } = existing.metadata.labels ?? {};
  const without = { ...existing, metadata: { ...existing.metadata, labels } };
  assert.equal(withRequiredLabels(without).metadata.labels?.['kubernetes.io/os'], 'linux');
  assert.equal(withRequiredLabels(existing), existing);
});
