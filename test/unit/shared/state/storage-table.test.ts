import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { ContainerID, PodUID } from '../../../../src/shared/kubernetes/ids.ts';
import {
  createStorageTable,
  reservedRowsPerPod,
  StorageReader,
  StorageWriter,
  type StorageIdentity,
  type StorageValues,
} from '../../../../src/shared/state/storage-table.ts';

const web = 'u1' as PodUID;
const other = 'u2' as PodUID;
const identity = (values: Partial<StorageIdentity> = {}): StorageIdentity => ({
  kind: 'volume',
  podUID: web,
  name: '',
  plugin: '',
  containerID: '',
  ...values,
});
const data = identity({ name: 'data', plugin: 'kubernetes.io~empty-dir' });
const app = identity({ kind: 'container', name: 'app', containerID: 'c1' as ContainerID });
const used = (usedBytes: number, values: Partial<StorageValues> = {}): StorageValues => ({
  readAtMs: 1000,
  usedBytes,
  inodesUsed: 3,
  isMountPoint: false,
  isLowerBound: false,
  capacityBytes: NaN,
  availableBytes: NaN,
  inodes: NaN,
  inodesFree: NaN,
  ...values,
});
const usage = (usedBytes: number) => ({ readAtMs: 1000, usedBytes, inodesUsed: 3, isLowerBound: false });

suite('the storage table', () => {
  test('shows the volumes, writable layers, logs and hosts file of each pod', () => {
    const buffer = createStorageTable(1);
    const writer = new StorageWriter(buffer);
    const reader = new StorageReader(buffer);
    assert.deepEqual([reader.all().size, reader.pod(web).volumes.size], [0, 0]);
    const filesystem = { capacityBytes: 100, availableBytes: 60, inodes: 10, inodesFree: 7 };
    writer.put(data, used(40, { ...filesystem, isMountPoint: true, isLowerBound: true }));
    const measured = { ...used(50), device: '8:1' };
    writer.put(app, measured);
    writer.put(identity({ kind: 'pod-logs' }), used(1));
    writer.put(identity({ kind: 'etc-hosts' }), used(2));
    writer.put({ ...app, podUID: other }, used(70));
    const pod = reader.pod(web);
    assert.deepEqual(
      [...pod.volumes.values()],
      [{ name: 'data', plugin: 'kubernetes.io~empty-dir', isMountPoint: true, ...usage(40), isLowerBound: true, ...filesystem }],
    );
    assert.deepEqual([...pod.containers.values()], [{ name: 'app', containerID: 'c1', ...usage(50) }]);
    assert.deepEqual([pod.podLogs, pod.etcHosts], [usage(1), usage(2)]);
    assert.deepEqual([...reader.all().keys()], [web, other]);
    assert.deepEqual(reader.all().get(web), pod);
  });

  test('shows the newest instance of a container', () => {
    const buffer = createStorageTable(1);
    const writer = new StorageWriter(buffer);
    writer.put({ ...app, containerID: 'c2' as ContainerID }, used(1, { readAtMs: 2000 }));
    writer.put(app, used(50));
    assert.equal(new StorageReader(buffer).pod(web).containers.get('app')?.containerID, 'c2');
  });

  test('shows changed and reused rows to a reader that has read them before', () => {
    const buffer = createStorageTable(1);
    const writer = new StorageWriter(buffer);
    const reader = new StorageReader(buffer);
    writer.put(data, used(40));
    assert.equal(reader.all().get(web)?.volumes.get('data')?.usedBytes, 40);
    writer.put(data, used(41));
    assert.equal(reader.all().get(web)?.volumes.get('data')?.usedBytes, 41);
    writer.remove(data);
    assert.equal(reader.all().size, 0);
    writer.put({ ...app, podUID: other }, used(70));
    assert.deepEqual([...reader.all().keys()], [other]);
    assert.equal(reader.all().get(other)?.containers.get('app')?.usedBytes, 70);
  });

  test('keeps the rows of a dead writer for its successor, which changes and removes them', () => {
    const buffer = createStorageTable(1);
    new StorageWriter(buffer).put(data, used(40));
    const successor = new StorageWriter(buffer);
    assert.deepEqual(successor.identities(), [data]);
    successor.put(data, used(41));
    const reader = new StorageReader(buffer);
    assert.equal(reader.pod(web).volumes.get('data')?.usedBytes, 41);
    successor.remove(data);
    successor.remove(data);
    assert.equal(reader.all().size, 0);
  });

  test('a pod with very many volumes fills only the shared rows', () => {
    const buffer = createStorageTable(1);
    const writer = new StorageWriter(buffer);
    const fill = () => {
      for (let index = 0; ; index += 1) writer.put({ ...data, name: `v${index}` }, used(1));
    };
    assert.throws(fill, { name: 'TableFullError' });
    const rows = writer.identities().length;
    // The other pods still have theirs, and rows that become free can be used again.
    for (let index = 0; index < reservedRowsPerPod; index += 1) writer.put({ ...data, podUID: other, name: `v${index}` }, used(1));
    const oneMore = { ...data, podUID: other, name: 'more' };
    assert.throws(() => writer.put(oneMore, used(1)), { name: 'TableFullError' });
    writer.remove({ ...data, name: 'v0' });
    writer.put(oneMore, used(1));
    assert.equal(writer.identities().length, rows + reservedRowsPerPod);
  });
});
