import assert from 'node:assert/strict';
import { test } from 'node:test';
import { driverMeasuredUsage } from '../../../../src/workers/volumes/csi/csi-volume-stats.ts';
import { VolumeUsage_Unit as Unit } from '../../../../src/workers/volumes/csi/generated/csi-v1.ts';

const none = { capacityBytes: 0, availableBytes: 0, usedBytes: 0, inodes: 0, inodesFree: 0, inodesUsed: 0 };
const bytes = (total: bigint) => ({ unit: Unit.BYTES, total, available: total - 1n, used: 1n });
const inodes = { unit: Unit.INODES, total: 9n, available: 7n, used: 2n };

test('what a driver reports of a unit is taken, and is 0 for the other unit', () => {
  assert.deepEqual(driverMeasuredUsage([bytes(5n)]), { ...none, capacityBytes: 5, availableBytes: 4, usedBytes: 1 });
  assert.deepEqual(driverMeasuredUsage([inodes]), { ...none, inodes: 9, inodesFree: 7, inodesUsed: 2 });
  assert.deepEqual(driverMeasuredUsage([{ ...inodes, unit: Unit.UNKNOWN }]), none);
});

test('of several values of a unit the last one counts', () => {
  assert.equal(driverMeasuredUsage([bytes(5n), inodes, bytes(2n ** 62n)]).capacityBytes, 2 ** 62);
});

test('a reply without usage is a failure', () => {
  assert.throws(() => driverMeasuredUsage([]), /usage is nil/);
});
