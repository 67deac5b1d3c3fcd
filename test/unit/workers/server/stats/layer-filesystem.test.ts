import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ContainerID, PodUID } from '../../../../../src/shared/kubernetes/ids.ts';
import type { PodStorage } from '../../../../../src/shared/state/storage-table.ts';
import { layerFilesystem } from '../../../../../src/workers/server/stats/layer-filesystem.ts';
import { aNodeFilesystem, aUsage } from '../../../../support/usage.ts';

const layer = { name: 'app', containerID: 'c' as ContainerID, readAtMs: 1, usedBytes: 500, inodesUsed: 7, isLowerBound: false };
const storage = (over: Partial<typeof layer> = {}): PodStorage => ({
  containers: new Map([['app', { ...layer, ...over }]]),
  volumes: new Map(),
  podLogs: undefined,
  etcHosts: undefined,
});
const devices = [
  aNodeFilesystem({ device: '/dev/sda1', deviceNumber: 2049 }),
  aNodeFilesystem({ device: '/dev/sdb1', deviceNumber: 2065 }),
];
const container = (over = {}) =>
  aUsage({ kind: 'container', podUID: 'u' as PodUID, containerName: 'app', containerID: 'c' as ContainerID }, { logBytes: 40, ...over });

const cases: [string, ReturnType<typeof layerFilesystem>, string][] = [
  ['has the layer with the log', layerFilesystem(container(), storage(), { device: 2065 }, devices), '/dev/sdb1 100 540 7'],
  ['without a log', layerFilesystem(container({ logBytes: NaN }), storage(), { device: 2049 }, devices), '/dev/sda1 100 500 7'],
  ['of another instance', layerFilesystem(container(), storage({ containerID: 'd' as ContainerID }), { device: 2049 }, devices), ''],
  ['not measured', layerFilesystem(container(), storage({ usedBytes: NaN }), { device: 2049 }, devices), ''],
  ['on no device of the node', layerFilesystem(container(), storage(), { device: 1 }, devices), ''],
  ['on an unknown device', layerFilesystem(container(), storage(), undefined, devices), ''],
  ['of a pod without storage', layerFilesystem(container(), undefined, { device: 2049 }, devices), ''],
  ['of a sandbox', layerFilesystem(aUsage({ kind: 'sandbox' }), storage(), { device: 2049 }, devices), ''],
];
for (const [name, found, wanted] of cases)
  test(`the filesystem of a container: ${name}`, () =>
    assert.equal(found ? [found.device, found.capacityBytes, found.usedBytes, found.inodes].join(' ') : '', wanted));
