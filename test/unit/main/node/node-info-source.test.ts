import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NodeInfoSource, unknownNodeInfo } from '../../../../src/main/node/index.ts';
import type { NodeInfoParts } from '../../../../src/main/node/node-info-source.ts';
import { FakeClock } from '../../../support/fake-clock.ts';

const resources = { milliCPU: 2000, memoryBytes: 4e9, ephemeralStorageBytes: 1e10, pods: 110 };

test('the information is that of its parts, and before them only the name of the node', () => {
  let registered: readonly string[] = [];
  const before = unknownNodeInfo('node-1');
  assert.deepEqual([before.nodeName, before.hostIPs, before.runtimeName, before.networkReady], ['node-1', [], '', false]);
  const nodeInfo = new NodeInfoSource({
    nodeName: 'node-1',
    local: { hostIPs: () => ['10.0.0.1'], refreshNetwork: async () => {} },
    registeredHostIPs: () => registered,
    resources: () => ({ capacity: resources, allocatable: resources }),
    runtimeState: { networkErrors: () => null, info: { runtimeName: 'containerd', runtimeVersion: '2.0.0', handlers: [] } },
    clock: new FakeClock(),
  } as unknown as NodeInfoParts);
  const started = nodeInfo.current();
  assert.deepEqual([started.hostIPs, started.runtimeName, started.networkReady], [['10.0.0.1'], 'containerd', true]);
  assert.equal(started.allocatable, resources);
  registered = ['10.0.0.2'];
  assert.deepEqual(nodeInfo.current().hostIPs, ['10.0.0.2']);
});
