/** How the usage of claims' volumes is shown. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PodUID } from '../../../../../src/shared/kubernetes/ids.ts';
import {
  ClaimedVolumesReader,
  ClaimedVolumesWriter,
  createClaimedVolumesTable,
} from '../../../../../src/shared/state/claimed-volumes-table.ts';
import type { PodStorage, VolumeUsage } from '../../../../../src/shared/state/storage-table.ts';
import { podStorageFields } from '../../../../../src/workers/server/stats/pod-storage.ts';
import { volumeFamilies } from '../../../../../src/workers/server/stats/volume-metrics.ts';

const usage = (name: string, plugin: string, usedBytes: number): VolumeUsage => ({
  name,
  plugin,
  isMountPoint: true,
  isLowerBound: false,
  readAtMs: 0,
  usedBytes,
  inodesUsed: 2,
  capacityBytes: 100,
  availableBytes: 100 - usedBytes,
  inodes: 10,
  inodesFree: 8,
});
const storageOf = (...volumes: readonly VolumeUsage[]): PodStorage => ({
  containers: new Map(),
  volumes: new Map(volumes.map((volume) => [volume.name, volume])),
  podLogs: undefined,
  etcHosts: undefined,
});
const [a, b] = ['a', 'b'] as PodUID[] as [PodUID, PodUID];
const csi = 'kubernetes.io~csi';
const row = (podUID: PodUID, volume: string, claim: string, folder: string) => ({
  podUID,
  plugin: csi,
  folder,
  volume,
  namespace: 'shop',
  claim,
});

test('a claim has one series of each metric, also when two pods use it, and none before it is measured', () => {
  const table = createClaimedVolumesTable(2);
  const [writer, reader] = [new ClaimedVolumesWriter(table), new ClaimedVolumesReader(table)];
  for (const one of [row(a, 'v', 'c1', 'pv1'), row(b, 'v', 'c1', 'pv1'), row(b, 'w', 'c2', 'pv2')]) writer.put(one);
  const storage = new Map([
    [a, storageOf(usage('pv1', csi, 40))],
    [b, storageOf(usage('pv1', csi, 40), usage('pv2', 'kubernetes.io~empty-dir', 1))],
  ]);
  const shown = () =>
    volumeFamilies(storage, reader.all()).flatMap(({ name, samples }) =>
      Array.from(samples, ({ labels: { pairs }, value }) => [name, pairs.map((pair) => `${pair.name}=${pair.value}`).join(), value]),
    );
  const labels = 'namespace=shop,persistentvolumeclaim=c1';
  assert.deepEqual(shown(), [
    ['kubelet_volume_stats_available_bytes', labels, 60],
    ['kubelet_volume_stats_capacity_bytes', labels, 100],
    ['kubelet_volume_stats_inodes', labels, 10],
    ['kubelet_volume_stats_inodes_free', labels, 8],
    ['kubelet_volume_stats_inodes_used', labels, 2],
    ['kubelet_volume_stats_used_bytes', labels, 40],
  ]);
  writer.removePod(a);
  writer.removePod(b);
  writer.removePod(b);
  assert.deepEqual(shown(), []);
});

test('a volume in /stats/summary has its name in the pod and its claim; two volumes of one claim are both there', () => {
  const storage = storageOf(usage('pv1', csi, 40), usage('cache', 'kubernetes.io~empty-dir', 1));
  const [volumes = ''] = podStorageFields(storage, [], undefined, [row(a, 'v', 'c1', 'pv1'), row(a, 'w', 'c1', 'pv1')]);
  const { volume } = JSON.parse(`{${volumes}}`) as { readonly volume: readonly { readonly name: string; readonly pvcRef?: object }[] };
  assert.deepEqual(
    volume.map(({ name, pvcRef }) => [name, pvcRef]),
    [
      ['cache', undefined],
      ['v', { name: 'c1', namespace: 'shop' }],
      ['w', { name: 'c1', namespace: 'shop' }],
    ],
  );
});
