import assert from 'node:assert/strict';
import { nodeReportPatch, nodeStatusPatch, statusHasChanged } from '../../../../../src/main/node/status/node-status-patch.ts';
import type { Node, NodeStatus, NodeSystemInfo } from '../../../../../src/main/node/node-object.ts';
import { table } from '../../../../support/table.ts';

const condition = (type: string, status: string, lastHeartbeatTime = 't1') => ({
  type,
  status,
  lastHeartbeatTime,
  lastTransitionTime: 't0',
  reason: 'R',
});
const base: NodeStatus = {
  capacity: { cpu: '2', memory: '4Gi' },
  conditions: [condition('NetworkUnavailable', 'False'), condition('Ready', 'True')],
  nodeInfo: { bootID: 'b' } as NodeStatus['nodeInfo'] & {},
};
/** An image without a tag or digest has no names. Go writes null for the empty list and omits a size of zero. */
const imagesByServer = [{ names: null, sizeBytes: 9 }, { names: ['a'] }] as unknown as NodeStatus['images'] & {};
const imagesByUs = [
  { names: [], sizeBytes: 9 },
  { names: ['a'], sizeBytes: 0 },
];
const inUserNamespace = (runningInUserNamespace: boolean): NodeStatus => ({
  ...base,
  nodeInfo: { ...base.nodeInfo!, runningInUserNamespace } as NodeSystemInfo,
});
const changes: { name: string; before?: NodeStatus; after: NodeStatus; want: boolean }[] = [
  { name: 'a field that an older API server drops is not a change', after: inUserNamespace(false), want: false },
  { name: 'that the node is in a user namespace is a change', after: inUserNamespace(true), want: true },
  {
    name: 'a heartbeat alone is not a change',
    after: { ...base, conditions: [base.conditions![0]!, condition('Ready', 'True', 't9')] },
    want: false,
  },
  { name: 'the order of conditions is not a change', after: { ...base, conditions: [...base.conditions!].reverse() }, want: false },
  {
    name: 'an equal quantity in another format is not a change',
    after: { ...base, capacity: { cpu: '2000m', memory: '4096Mi' } },
    want: false,
  },
  { name: 'an empty list instead of an absent one is not a change', after: { ...base, images: [], volumesInUse: [] }, want: false },
  {
    name: 'the server’s form of an image without names or size is not a change',
    before: { ...base, images: imagesByServer },
    after: { ...base, images: imagesByUs },
    want: false,
  },
  {
    name: 'an image that lost its last name is a change',
    before: { ...base, images: [{ names: ['a'], sizeBytes: 9 }] },
    after: { ...base, images: [{ names: [], sizeBytes: 9 }] },
    want: true,
  },
  {
    name: 'a node that is no longer ready has changed',
    after: { ...base, conditions: [base.conditions![0]!, condition('Ready', 'False')] },
    want: true,
  },
  { name: 'a node with more memory has changed', after: { ...base, capacity: { cpu: '2', memory: '8Gi' } }, want: true },
  { name: 'a node with one resource less has changed', after: { ...base, capacity: { cpu: '2' } }, want: true },
  {
    name: 'a rebooted node has changed',
    after: { ...base, nodeInfo: { bootID: 'c' } as NodeStatus['nodeInfo'] & {} },
    want: true,
  },
];
table('a node’s status is compared', (row) => {
  for (const { name, before = base, after, want } of changes) row(name, () => assert.equal(statusHasChanged(before, after), want));
});

const node = (status: NodeStatus, metadata: Partial<Node['metadata']> = {}): Node => ({
  metadata: { name: 'n1', resourceVersion: '7', ...metadata },
  status,
});
const patches: { name: string; before: Node; after: Node; want: unknown }[] = [
  { name: 'an unchanged node has no patch', before: node(base), after: node(base), want: null },
  {
    name: 'the server’s form of images is not patched',
    before: node({ images: imagesByServer }),
    after: node({ images: imagesByUs }),
    want: null,
  },
  {
    name: 'a heartbeat contains only the type and the time, and no condition of another writer',
    before: node(base),
    after: node({ ...base, conditions: [base.conditions![0]!, condition('Ready', 'True', 't2')] }),
    want: { status: { conditions: [{ type: 'Ready', lastHeartbeatTime: 't2' }] } },
  },
  {
    name: 'a new condition is sent completely',
    before: node({}),
    after: node({ conditions: [condition('Ready', 'False')] }),
    want: { status: { conditions: [condition('Ready', 'False')] } },
  },
  {
    name: 'changed addresses replace all existing ones',
    before: node({
      addresses: [
        { type: 'InternalIP', address: '10.0.0.1' },
        { type: 'InternalIP', address: 'fd00::1' },
      ],
    }),
    after: node({ addresses: [{ type: 'InternalIP', address: '10.0.0.2' }] }),
    want: { status: { addresses: [{ type: 'InternalIP', address: '10.0.0.2' }, { $patch: 'replace' }] } },
  },
  {
    name: 'the first addresses are sent without a directive',
    before: node({}),
    after: node({ addresses: [{ type: 'InternalIP', address: '10.0.0.2' }] }),
    want: { status: { addresses: [{ type: 'InternalIP', address: '10.0.0.2' }] } },
  },
  {
    name: 'removed fields are null, changed ones are replaced, and others are absent',
    before: node({
      capacity: { cpu: '2', 'hugepages-2Mi': '4Mi', 'example.com/gpu': '1' },
      nodeInfo: { bootID: 'b', swap: { capacity: 1 } } as NodeStatus['nodeInfo'] & {},
    }),
    after: node({ capacity: { cpu: '4', 'example.com/gpu': '1' }, nodeInfo: { bootID: 'b' } as NodeStatus['nodeInfo'] & {} }),
    want: { status: { capacity: { cpu: '4', 'hugepages-2Mi': null }, nodeInfo: { swap: null } } },
  },
  {
    name: 'lists without a merge key are replaced',
    before: node({ images: [{ names: ['a'], sizeBytes: 1 }], volumesInUse: ['v'] }),
    after: node({ images: [{ names: ['b'], sizeBytes: 1 }] }),
    want: { status: { images: [{ names: ['b'], sizeBytes: 1 }], volumesInUse: null } },
  },
  {
    name: 'a changed label and annotation are sent with the status, and foreign ones are absent',
    before: node(base, { labels: { foreign: 'x' }, annotations: { old: '1' } }),
    after: node(base, { labels: { foreign: 'x', 'kubernetes.io/os': 'linux' }, annotations: {} }),
    want: { metadata: { labels: { 'kubernetes.io/os': 'linux' }, annotations: { old: null } } },
  },
];
table('a patch of a node’s status has only the changes', (row) => {
  for (const { name, before, after, want } of patches) row(name, () => assert.deepEqual(nodeStatusPatch(before, after), want));
});

table('a report of a node’s status', (row) => {
  const before: Node = { metadata: { name: 'n', resourceVersion: '7' }, status: { volumesInUse: ['v', 'w'] } };
  const after = (volumesInUse: string[]): Node => ({ ...before, status: { volumesInUse } });
  row('is for its version of the Node when it drops a volume', () =>
    assert.deepEqual(nodeReportPatch(before, after(['w'])), { metadata: { resourceVersion: '7' }, status: { volumesInUse: ['w'] } }),
  );
  row('is for any version when it adds one', () =>
    assert.deepEqual(nodeReportPatch(before, after(['v', 'w', 'x'])), { status: { volumesInUse: ['v', 'w', 'x'] } }),
  );
  row('is none without a change', () => assert.equal(nodeReportPatch(before, after(['v', 'w'])), null));
});
