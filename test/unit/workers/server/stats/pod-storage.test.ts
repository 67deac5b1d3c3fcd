import assert from 'node:assert/strict';
import type { ContainerID } from '../../../../../src/shared/kubernetes/ids.ts';
import type { PodStorage, StorageUsage, VolumeUsage } from '../../../../../src/shared/state/storage-table.ts';
import {
  containerStorageFields,
  isLocalEphemeral,
  podStorageFields,
  sumEphemeralStorage,
} from '../../../../../src/workers/server/stats/pod-storage.ts';
import { table } from '../../../../support/table.ts';
import { aUsage } from '../../../../support/usage.ts';

const at = Date.UTC(2026, 0, 2, 3, 4, 5);
const sizes = { capacityBytes: 900, availableBytes: 500, inodes: 90, inodesFree: 80 };
const root = { readAtMs: at - 5000, usedBytes: 350, inodesUsed: 10, ...sizes };
const used = (usedBytes: number, inodesUsed: number): StorageUsage => ({ readAtMs: at, usedBytes, inodesUsed, isLowerBound: false });
const emptyDir = 'kubernetes.io~empty-dir';
const volume = (name: string, plugin: string, usedBytes: number, isMountPoint = false): VolumeUsage => ({
  name,
  plugin,
  isMountPoint,
  ...used(usedBytes, 1),
  ...sizes,
});
const app = aUsage(
  { kind: 'container', containerName: 'app', containerID: 'c1' as ContainerID },
  { logBytes: 40, logInodes: 2, sampledAtMs: at },
);
function storageOf({
  volumes = [],
  layerOf = 'c1',
  ...files
}: {
  readonly volumes?: VolumeUsage[];
  readonly layerOf?: string;
  readonly podLogs?: StorageUsage;
  readonly etcHosts?: StorageUsage;
} = {}): PodStorage {
  const layer = { name: 'app', containerID: layerOf as ContainerID, ...used(1000, 7) };
  return {
    containers: new Map([['app', layer]]),
    volumes: new Map(volumes.map((each) => [each.name, each])),
    podLogs: files.podLogs,
    etcHosts: files.etcHosts,
  };
}
const parsed = (fields: readonly string[]) => JSON.parse(`{${fields.join(',')}}`);
const time = '2026-01-02T03:04:05Z';

table('the ephemeral storage of a pod', (row) => {
  const cases: { name: string; storage: PodStorage | undefined; want: [number, number] }[] = [
    { name: 'is its logs as long as nothing else is measured', storage: undefined, want: [40, 2] },
    { name: 'has the writable layer', storage: storageOf(), want: [1040, 9] },
    { name: 'has no layer of an earlier instance of the container', storage: storageOf({ layerOf: 'c0' }), want: [40, 2] },
    {
      name: 'has local volumes, but none in memory, and none of other plugins',
      storage: storageOf({
        volumes: [
          volume('a', emptyDir, 1),
          volume('b', emptyDir, 10_000, true),
          volume('c', 'kubernetes.io~configmap', 2),
          volume('d', 'kubernetes.io~secret', 10_000, true),
          volume('e', 'kubernetes.io~csi', 10_000, true),
        ],
      }),
      want: [1043, 11],
    },
    {
      name: 'has the pod’s own logs and its hosts file',
      storage: storageOf({ podLogs: used(100, 1), etcHosts: used(200, 1) }),
      want: [1340, 11],
    },
    { name: 'leaves out what is not known', storage: storageOf({ podLogs: used(NaN, NaN) }), want: [1040, 9] },
  ];
  for (const { name, storage, want } of cases) {
    row(name, () => {
      const { usedBytes, inodesUsed, readAtMs } = sumEphemeralStorage(storage, [app], root);
      assert.deepEqual([usedBytes, inodesUsed, readAtMs], [...want, at]);
    });
  }
  row('is unknown without any measurement', () => {
    const container = aUsage({ kind: 'container', containerName: 'app' }, { logBytes: NaN, logInodes: NaN });
    assert.equal(Number.isNaN(sumEphemeralStorage(undefined, [container], root).usedBytes), true);
  });
});

table('the fields of a pod’s storage', (row) => {
  row('list local volumes first, each with its filesystem', () => {
    const volumes = [volume('secret', 'kubernetes.io~secret', 3, true), volume('b', emptyDir, 2), volume('a', emptyDir, 1)];
    const { volume: shown } = parsed(podStorageFields(storageOf({ volumes }), [app], undefined));
    const values = { time, ...sizes, inodesUsed: 1 };
    assert.deepEqual(shown, [
      { ...values, usedBytes: 1, name: 'a' },
      { ...values, usedBytes: 2, name: 'b' },
      { ...values, usedBytes: 3, name: 'secret' },
    ]);
  });
  row('leave out the inodes of huge pages, which have no limit', () => {
    const pages = { ...volume('pages', emptyDir, 0, true), inodes: 2 ** 64, inodesFree: 2 ** 64, inodesUsed: 0 };
    const { volume: shown } = parsed(podStorageFields(storageOf({ volumes: [pages] }), [app], undefined));
    const { inodes, inodesFree, ...limited } = sizes;
    assert.deepEqual([shown, inodes > inodesFree], [[{ time, ...limited, usedBytes: 0, inodesUsed: 0, name: 'pages' }], true]);
  });
  row('are absent without volumes, and without the root directory’s filesystem', () => {
    assert.deepEqual(podStorageFields(undefined, [app], undefined), []);
    assert.deepEqual(parsed(podStorageFields(undefined, [app], root)), {
      'ephemeral-storage': { time, ...sizes, usedBytes: 40, inodesUsed: 2 },
    });
  });
  row('a container has its writable layer and its logs', () => {
    const { rootfs, logs } = parsed(containerStorageFields(app, storageOf(), { root, container: { ...root, capacityBytes: 800 } }));
    assert.deepEqual(rootfs, { time, ...sizes, capacityBytes: 800, usedBytes: 1000, inodesUsed: 7 });
    assert.deepEqual(logs, { time, ...sizes, usedBytes: 40, inodesUsed: 2 });
  });
  row('a container without a measured layer has only the filesystem', () => {
    const { rootfs } = parsed(containerStorageFields(app, undefined, { root: undefined, container: root }));
    assert.deepEqual(rootfs, { time, ...sizes });
  });
});

table('a local ephemeral volume', (row) => {
  const cases: [string, string, boolean, boolean][] = [
    ['is an emptyDir on disk', emptyDir, false, true],
    ['is no emptyDir in memory', emptyDir, true, false],
    ['is a config map', 'kubernetes.io~configmap', false, true],
    ['is no secret', 'kubernetes.io~secret', true, false],
    ['is no projected volume', 'kubernetes.io~projected', false, false],
  ];
  for (const [name, plugin, isMountPoint, want] of cases) {
    row(name, () => assert.equal(isLocalEphemeral({ plugin, isMountPoint }), want));
  }
});
