import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CgroupChange } from '../../../../../src/shared/contracts/pod-sync/cgroups.ts';
import type { CgroupResources } from '../../../../../src/shared/cgroups/cgroup-values.ts';
import { PodCgroups, type PodCgroupsOptions } from '../../../../../src/workers/pod-sync/cgroups/pod-cgroups.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';
import { silentLogger } from '../../../../support/logger.ts';

const usageBytes = 1000;

/** A kernel that refuses limits below the usage, as that of cgroup v1. Returns the values that it has accepted, and the failure of the change. */
async function change(fields: Partial<CgroupChange>) {
  let accepted: CgroupResources = { memoryBytes: 5000 };
  const cgroups = new PodCgroups({
    settings: { cgroupDriver: 'cgroupfs', cgroupVersion: 1, cgroupRoot: '/', cgroupsPerQOS: true } as PodCgroupsOptions['settings'],
    tree: { exists: async () => true, memoryUsage: async () => usageBytes } as unknown as PodCgroupsOptions['tree'],
    manager: {
      async update(_name: unknown, resources: CgroupResources) {
        if ((resources.memoryBytes ?? Infinity) < usageBytes) throw new Error('EBUSY');
        accepted = { ...accepted, ...resources };
      },
    } as unknown as PodCgroupsOptions['manager'],
    hugePageSizes: [],
    clock: new FakeClock(),
    logger: silentLogger,
  });
  const resources = { memoryBytes: 500, cpuShares: 7 };
  const { failures } = await cgroups.syncCgroups({ cgroups: [{ cgroup: ['kubepods'], resources, create: true, ...fields }] });
  return { accepted, failure: failures[0] };
}

test('a refused limit of all pods stays as it was, fails, and does not prevent the other values', async () => {
  assert.deepEqual(await change({}), { accepted: { memoryBytes: 5000, cpuShares: 7 }, failure: 'EBUSY' });
});

test('a refused reservation becomes a limit at the usage', async () => {
  assert.deepEqual(await change({ memoryAtLeastUsage: true }), { accepted: { memoryBytes: usageBytes, cpuShares: 7 }, failure: null });
});
