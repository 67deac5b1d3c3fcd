import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aMachine } from '../../../../support/pods/local-node-status.ts';
import {
  allocatableList,
  capacityList,
  excessiveReservations,
  nodeAllocatable,
  nodeCapacity,
} from '../../../../../src/main/node/status/node-capacity.ts';
import type { MachineInfo } from '../../../../../src/shared/contracts/stats.ts';

const machine = { numCores: 4, memoryBytes: 8 * 1024 ** 3, rootFsCapacityBytes: 100e9 } as MachineInfo;
const none = { systemReserved: {}, kubeReserved: {}, evictionHard: {}, maxPods: 110, podsPerCore: 0 };

test('the capacity is the machine’s', () => {
  assert.deepEqual(nodeCapacity(machine, none), { milliCPU: 4000, memoryBytes: 8 * 1024 ** 3, ephemeralStorageBytes: 100e9, pods: 110 });
});

test('podsPerCore limits the pods of the node', () => {
  assert.equal(nodeCapacity(machine, { ...none, podsPerCore: 10 }).pods, 40);
  assert.equal(nodeCapacity(machine, { ...none, podsPerCore: 100 }).pods, 110);
});

test('allocatable excludes reservations and hard eviction thresholds', () => {
  const settings = {
    ...none,
    systemReserved: { cpu: '500m', memory: '1Gi' },
    kubeReserved: { cpu: '100m', memory: '512Mi', 'ephemeral-storage': '1G' },
    evictionHard: { 'memory.available': '100Mi', 'nodefs.available': '10%' },
  };
  assert.deepEqual(nodeAllocatable(nodeCapacity(machine, settings), settings), {
    milliCPU: 3400,
    memoryBytes: (8192 - 1024 - 512 - 100) * 1024 ** 2,
    // A tenth in single precision, as the Go kubelet computes it.
    ephemeralStorageBytes: 100e9 - 1e9 - 10_000_000_149,
    pods: 110,
  });
});

test('thresholds of 0% and 100% reserve nothing', () => {
  for (const text of ['0%', '100%']) {
    const settings = { ...none, localStorageCapacityIsolation: true, evictionHard: { 'memory.available': text, 'nodefs.available': text } };
    const capacity = nodeCapacity(machine, settings);
    assert.deepEqual(nodeAllocatable(capacity, settings), capacity);
    const list = capacityList({}, aMachine({ hugePages: [] }), settings);
    assert.deepEqual(allocatableList({}, list, settings), list);
    assert.equal(excessiveReservations(aMachine({}), settings), null);
  }
});

test('a reservation beyond the capacity leaves nothing', () => {
  const settings = { ...none, systemReserved: { cpu: '64' } };
  assert.equal(nodeAllocatable(nodeCapacity(machine, settings), settings).milliCPU, 0);
});

const full = {
  ...machine,
  rootFsCapacityBytes: 100 * 1024 ** 3,
  hugePages: [
    { pageSizeKiB: 2048, pages: 512 },
    { pageSizeKiB: 1048576, pages: 0 },
  ],
};
const settings = { ...none, localStorageCapacityIsolation: true };

test('reservations within the capacity are accepted, and each one beyond it is named with both amounts', () => {
  const machine = aMachine({ numCores: 2, memoryBytes: 2 ** 30, hugePages: [] });
  const none = {
    systemReserved: {},
    kubeReserved: {},
    evictionHard: {},
    maxPods: 110,
    podsPerCore: 0,
    localStorageCapacityIsolation: true,
  };
  assert.equal(excessiveReservations(machine, { ...none, systemReserved: { cpu: '1' }, kubeReserved: { cpu: '1' } }), null);
  assert.equal(
    excessiveReservations(machine, { ...none, kubeReserved: { cpu: '2100m', memory: '1Gi' }, evictionHard: { 'memory.available': '1Mi' } }),
    'invalid Node Allocatable configuration. Resource "cpu" has a reservation of 2100m but capacity of 2. Expected capacity >= reservation. ' +
      'Resource "memory" has a reservation of 1025Mi but capacity of 1Gi. Expected capacity >= reservation.',
  );
});

test('quantities of the status are formatted as in Go', () => {
  assert.deepEqual(capacityList({}, full, settings), {
    cpu: '4',
    memory: '8Gi',
    'hugepages-2Mi': '1Gi',
    'hugepages-1Gi': '0',
    pods: '110',
    'ephemeral-storage': String(100 * 1024 ** 3),
  });
});

test('a resource advertised by another client stays in the capacity', () => {
  assert.equal(capacityList({ 'example.com/gpu': '2', cpu: '64' }, full, settings)['example.com/gpu'], '2');
});

test('a node without localStorageCapacityIsolation has no ephemeral-storage', () => {
  assert.equal(capacityList({}, full, { ...settings, localStorageCapacityIsolation: false })['ephemeral-storage'], undefined);
});

const reservations = {
  ...settings,
  systemReserved: { cpu: '500m', memory: '1Gi' },
  kubeReserved: { cpu: '100m', 'ephemeral-storage': '1Gi' },
  evictionHard: { 'memory.available': '100Mi', 'nodefs.available': '10%' },
};
test('allocatable is the capacity without reservations, and memory excludes huge pages', () => {
  assert.deepEqual(allocatableList({}, capacityList({}, full, reservations), reservations), {
    cpu: '3400m',
    memory: `${8192 - 1024 - 100 - 1024}Mi`,
    'hugepages-2Mi': '1Gi',
    'hugepages-1Gi': '0',
    pods: '110',
    'ephemeral-storage': String(100 * 1024 ** 3 - 1024 ** 3 - 10_737_418_400),
  });
});

test('an extended resource without capacity is not allocatable, other existing entries stay', () => {
  const existing = { 'example.com/gone': '1', 'example.com/gpu': '1', 'attachable-volumes-x': '5' };
  const allocatable = allocatableList(existing, { 'example.com/gpu': '2' }, settings);
  assert.deepEqual(allocatable, { 'example.com/gpu': '2', 'attachable-volumes-x': '5' });
});

test('a node with all memory reserved has none allocatable', () => {
  assert.equal(allocatableList({}, { memory: '1Gi' }, { ...settings, kubeReserved: { memory: '2Gi' } })['memory'], '0');
});

test('an invalid quantity of another client does not affect other resources', () => {
  assert.deepEqual(allocatableList({}, { 'example.com/odd': 'many', cpu: '2' }, settings), { cpu: '2' });
});
