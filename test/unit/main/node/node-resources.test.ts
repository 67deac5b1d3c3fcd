import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nodeAllocatable, nodeCapacity } from '../../../../src/main/node/node-resources.ts';
import type { MachineInfo } from '../../../../src/shared/contracts/stats.ts';

const machine = { numCores: 4, memoryBytes: 8 * 1024 ** 3, rootFsCapacityBytes: 100e9 } as MachineInfo;
const none = { systemReserved: {}, kubeReserved: {}, evictionHard: {}, maxPods: 110, podsPerCore: 0 };

test('the node has what the machine has', () => {
  assert.deepEqual(nodeCapacity(machine, none), { milliCPU: 4000, memoryBytes: 8 * 1024 ** 3, ephemeralStorageBytes: 100e9, pods: 110 });
});

test('pods for each core bound the pods of the node', () => {
  assert.equal(nodeCapacity(machine, { ...none, podsPerCore: 10 }).pods, 40);
  assert.equal(nodeCapacity(machine, { ...none, podsPerCore: 100 }).pods, 110);
});

test('pods may use what is not reserved, and what hard eviction does not keep free', () => {
  const settings = {
    ...none,
    systemReserved: { cpu: '500m', memory: '1Gi' },
    kubeReserved: { cpu: '100m', memory: '512Mi', 'ephemeral-storage': '1G' },
    evictionHard: { 'memory.available': '100Mi', 'nodefs.available': '10%' },
  };
  assert.deepEqual(nodeAllocatable(nodeCapacity(machine, settings), settings), {
    milliCPU: 3400,
    memoryBytes: (8192 - 1024 - 512 - 100) * 1024 ** 2,
    ephemeralStorageBytes: 100e9 - 1e9 - 10e9,
    pods: 110,
  });
});

test('more than there is can be reserved, and leaves nothing', () => {
  const settings = { ...none, systemReserved: { cpu: '64' } };
  assert.equal(nodeAllocatable(nodeCapacity(machine, settings), settings).milliCPU, 0);
});
