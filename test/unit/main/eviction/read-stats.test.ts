import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AllocatedPod } from '../../../../src/main/allocation/index.ts';
import { readNodeStats } from '../../../../src/main/eviction/read-node-stats.ts';
import { readPodStats } from '../../../../src/main/eviction/read-pod-stats.ts';
import type { PodUID } from '../../../../src/shared/kubernetes/ids.ts';
import { filesystemRows } from '../../../../src/shared/state/filesystem-table.ts';
import { createStorageTable, StorageReader, StorageWriter, type StorageIdentity } from '../../../../src/shared/state/storage-table.ts';
import {
  createUsageTable,
  openFilesystems,
  unknownUsage,
  UsageReader,
  UsageWriter,
  type CgroupIdentity,
  type UsageValues,
} from '../../../../src/shared/state/usage-table.ts';
import { aPod } from '../../../support/pods/pods.ts';
import { anIdentity, aUsage } from '../../../support/usage.ts';

const aMachineRow = {
  numCores: 1,
  numPhysicalCores: 1,
  numSockets: 1,
  memoryBytes: 1000,
  swapBytes: 0,
  hugePagesBytes: 0,
  machineID: '',
  systemUUID: '',
  bootID: '',
  kernelVersion: '',
  osImage: '',
};

class Tables {
  readonly #usage = createUsageTable(2);
  readonly #storage = createStorageTable(2);
  readonly #usageWriter = new UsageWriter(this.#usage);
  readonly #storageWriter = new StorageWriter(this.#storage);
  readonly #filesystems = openFilesystems(this.#usage, ['root', 'image', 'container']);

  add(identity: Partial<CgroupIdentity>, values: Partial<UsageValues>): void {
    this.#usageWriter.put(this.#usageWriter.add(anIdentity(identity)), aUsage(identity, values).values);
  }
  addStorage(identity: Partial<StorageIdentity>, usedBytes: number, inodesUsed = 1): void {
    const none = { podUID: 'uid-web' as PodUID, name: '', plugin: '', containerID: '' as const };
    const filesystem = { capacityBytes: NaN, availableBytes: NaN, inodes: NaN, inodesFree: NaN };
    const values = { isMountPoint: false, isLowerBound: false, readAtMs: 1, usedBytes, inodesUsed, ...filesystem };
    this.#storageWriter.put({ kind: 'volume', ...none, ...identity }, values);
  }
  setFilesystem(name: keyof typeof filesystemRows, device: number, inodes = 100): void {
    const sizes = { capacityBytes: 1000, availableBytes: 400, usedBytes: 600, inodes, inodesFree: inodes / 2, inodesUsed: inodes / 2 };
    this.#filesystems.put(filesystemRows[name], { readAtMs: 5, device, ...sizes });
  }
  setTasks(running: number, max: number): void {
    this.#usageWriter.setTasks({ readAtMs: 6, running, max });
  }

  setHugePages(hugePagesBytes: number): void {
    this.#usageWriter.setMachine({ ...aMachineRow, hugePagesBytes });
  }

  node() {
    return readNodeStats(new UsageReader(this.#usage));
  }
  pod(pod: AllocatedPod) {
    return readPodStats([pod], { usage: new UsageReader(this.#usage), storage: new StorageReader(this.#storage) })(pod);
  }
}

test('of a node that was not measured nothing is known', () => {
  assert.deepEqual(new Tables().node(), { stats: {}, layout: null });
});

test('huge pages are not available memory of the node', () => {
  const tables = new Tables();
  tables.add({ kind: 'root' }, { memoryLimitBytes: 1000, memoryWorkingSetBytes: 300, sampledAtMs: 3 });
  tables.setHugePages(500);
  assert.equal(tables.node().stats.memory?.availableBytes, 200);
  tables.setHugePages(900);
  assert.equal(tables.node().stats.memory?.availableBytes, 0);
});

test('the node’s memory, that of its pods, its filesystem and its tasks are read', () => {
  const tables = new Tables();
  tables.add({ kind: 'root' }, { memoryLimitBytes: 1000, memoryWorkingSetBytes: 300, sampledAtMs: 3 });
  tables.add({ kind: 'pods', path: '/kubepods' }, { memoryLimitBytes: 500, memoryWorkingSetBytes: 600, sampledAtMs: 4 });
  for (const name of ['root', 'image', 'container'] as const) tables.setFilesystem(name, 8);
  tables.setTasks(200, 32_768);
  const filesystem = { availableBytes: 400, capacityBytes: 1000, inodesFree: 50, inodes: 100, atMs: 5 };
  assert.deepEqual(tables.node(), {
    stats: {
      memory: { availableBytes: 700, workingSetBytes: 300, atMs: 3 },
      // The pods may use more than their limit for a moment.
      allocatableMemory: { availableBytes: -100, workingSetBytes: 600, atMs: 4 },
      nodefs: filesystem,
      imagefs: filesystem,
      containerfs: filesystem,
      processes: { running: 200, max: 32_768, atMs: 6 },
    },
    layout: { dedicatedImageFs: false, splitContainerFs: false },
  });
});

test('a cgroup of all pods whose limit could not be read yet has no signal: no pod is evicted for it', () => {
  const tables = new Tables();
  tables.add({ kind: 'pods' }, { memoryLimitBytes: 0, memoryWorkingSetBytes: 512 * 1024 });
  assert.equal(tables.node().stats.allocatableMemory, undefined);
});

test('without a limit of all pods, inodes, or a count of tasks these have no signals', () => {
  const tables = new Tables();
  tables.add({ kind: 'pods' }, { memoryLimitBytes: Infinity, memoryWorkingSetBytes: 1 });
  for (const name of ['root', 'image', 'container'] as const) tables.setFilesystem(name, 8, 0);
  tables.setTasks(NaN, 32_768);
  const filesystem = { availableBytes: 400, capacityBytes: 1000, atMs: 5 };
  assert.deepEqual(tables.node().stats, { nodefs: filesystem, imagefs: filesystem, containerfs: filesystem });
});

const layouts = [
  { devices: [1, 2, 2], layout: { dedicatedImageFs: true, splitContainerFs: false } },
  { devices: [1, 2, 1], layout: { dedicatedImageFs: true, splitContainerFs: true } },
  { devices: [1, 1, 2], layout: { dedicatedImageFs: true, splitContainerFs: true } },
  { devices: [1, NaN, NaN], layout: { dedicatedImageFs: true, splitContainerFs: false } },
] as const;
for (const { devices, layout } of layouts) {
  test(`filesystems on the devices ${devices.join(', ')} have the layout ${JSON.stringify(layout)}`, () => {
    const tables = new Tables();
    for (const [index, name] of (['root', 'image', 'container'] as const).entries()) tables.setFilesystem(name, devices[index]!);
    assert.deepEqual(tables.node().layout, layout);
  });
}

const ofPod = { podUID: 'uid-web' as PodUID, podName: 'web', podNamespace: 'default' };

test('of a container without a cgroup the logs are known, and the processes of its pod', () => {
  const tables = new Tables();
  tables.add({ ...ofPod, kind: 'container', path: '', containerName: 'app' }, { ...unknownUsage, logBytes: 70, logInodes: 1 });
  const found = tables.pod(aPod());
  assert.deepEqual([found?.containers, found?.ephemeralStorageBytes], [[{ name: 'app', logs: { usedBytes: 70, inodesUsed: 1 } }], 70]);
  assert.equal('memoryBytes' in found!, false);
  tables.add({ ...ofPod, kind: 'pod' }, { memoryWorkingSetBytes: 5, threads: 2 });
  assert.deepEqual([tables.pod(aPod())?.memoryBytes, tables.pod(aPod())?.processes], [5, 2]);
});

test('of a pod without a running container only the processes in its cgroup are known', () => {
  const tables = new Tables();
  tables.add({ ...ofPod, kind: 'pod' }, { memoryWorkingSetBytes: 5, threads: 2 });
  assert.deepEqual(tables.pod(aPod()), { processes: 2, containers: [], volumes: [], onlyProcesses: true });
});

test('a pod without a running container has no known usage where its cgroup is not measured', () => {
  const tables = new Tables();
  tables.add({ ...ofPod, kind: 'pod' }, { memoryWorkingSetBytes: 5, threads: NaN });
  tables.add({ ...ofPod, kind: 'sandbox' }, { memoryWorkingSetBytes: 5, processes: 1 });
  assert.equal(tables.pod(aPod()), undefined);
});

test('a pod’s usage is that of its cgroup, its newest containers, and its local storage', () => {
  const tables = new Tables();
  const unknown = { logBytes: NaN, logInodes: NaN };
  tables.add({ ...ofPod, kind: 'pod' }, { memoryWorkingSetBytes: 100 });
  tables.add({ ...ofPod, kind: 'container', containerName: 'app', createdAtMs: 1 }, { memoryWorkingSetBytes: 9, processes: 9, ...unknown });
  tables.add(
    { ...ofPod, kind: 'container', containerName: 'app', createdAtMs: 2 },
    { memoryWorkingSetBytes: 60, processes: 2, logBytes: 7, logInodes: 1 },
  );
  tables.add(
    { ...ofPod, kind: 'container', containerName: 'aux', createdAtMs: 2 },
    { memoryWorkingSetBytes: 30, processes: 1, ...unknown },
  );
  tables.addStorage({ kind: 'container', name: 'app', containerID: 'id' as never }, 1000, 10);
  tables.addStorage({ name: 'scratch' }, 200);
  tables.addStorage({ name: 'secret' }, 50_000);
  tables.addStorage({ kind: 'pod-logs' }, 30);
  tables.addStorage({ kind: 'etc-hosts' }, 4);
  const pod = aPod({
    spec: {
      volumes: [
        { name: 'scratch', emptyDir: {} },
        { name: 'secret', secret: {} },
      ],
    },
  });
  assert.deepEqual(tables.pod(pod), {
    memoryBytes: 100,
    processes: 3,
    ephemeralStorageBytes: 1000 + 7 + 200 + 30 + 4,
    containers: [
      { name: 'app', memoryBytes: 60, rootfs: { usedBytes: 1000, inodesUsed: 10 }, logs: { usedBytes: 7, inodesUsed: 1 } },
      { name: 'aux', memoryBytes: 30 },
    ],
    volumes: [
      { name: 'scratch', usedBytes: 200, inodesUsed: 1 },
      { name: 'secret', usedBytes: 50_000, inodesUsed: 1 },
    ],
  });
});
