/** Creates pods' cgroups in plain folders that replace the kernel's hierarchies. */
import { podSyncGatesWith } from '../../support/pods/pod-sync-gates.ts';
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { PodUID } from '../../../src/shared/kubernetes/ids.ts';
import { CgroupTree, createCgroupManager, PodCgroups } from '../../../src/workers/pod-sync/cgroups/index.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { silentLogger } from '../../support/logger.ts';
import { aContainer, aPod } from '../../support/pods/pod-sync-samples.ts';

async function aHost(version: 1 | 2, { cgroupsPerQOS = true, reservesMemory = false } = {}) {
  const root = mkdtempSync(join(tmpdir(), 'cgroups-'));
  if (version === 1) {
    for (const controller of ['cpu', 'cpuset', 'memory', 'pids', 'systemd']) mkdirSync(join(root, controller));
    writeFileSync(join(root, 'cpuset/cpuset.cpus'), '0-1\n');
    writeFileSync(join(root, 'cpuset/cpuset.mems'), '0\n');
  } else {
    writeFileSync(join(root, 'cgroup.controllers'), 'cpu memory pids\n');
  }
  const clock = new FakeClock();
  const logger = silentLogger;
  const killed: number[] = [];
  const tree = new CgroupTree({ root, version, clock, logger, kill: (pid) => killed.push(pid) > 0 });
  const settings = {
    cgroupDriver: 'cgroupfs' as const,
    cgroupVersion: version,
    cgroupRoot: '/',
    cgroupsPerQOS,
    cpuCFSQuota: true,
    cpuCFSQuotaPeriodUs: 100_000,
    podPidsLimit: 50,
    memoryReservationPolicy: reservesMemory ? 'TieredReservation' : 'None',
    memoryThrottlingFactor: null,
    featureGates: podSyncGatesWith(),
  };
  const manager = await createCgroupManager(settings.cgroupDriver, { tree, version, hugePageSizes: [], clock, logger });
  const cgroups = new PodCgroups({ settings, tree, manager, hugePageSizes: [], clock, logger });
  return {
    cgroups,
    clock,
    killed,
    root,
    read: (path: string) => readFileSync(join(root, path), 'utf8'),
    has: (path: string) => existsSync(join(root, path)),
    [Symbol.dispose]: () => rmSync(root, { recursive: true, force: true }),
  };
}

const burstable = (uid: string, cpu: string) => aPod({ containers: [aContainer('app', { resources: { requests: { cpu } } })] }, { uid });

test('with v1 a pod gets a cgroup with its values in every hierarchy, below its QoS class', async () => {
  using host = await aHost(1);
  await host.cgroups.ensureExists(burstable('uid-1', '500m'));
  assert.equal(host.cgroups.cgroupParent(burstable('uid-1', '500m')), '/kubepods/burstable/poduid-1');
  assert.equal(host.read('cpu/kubepods/burstable/poduid-1/cpu.shares'), '512');
  assert.equal(host.read('pids/kubepods/burstable/poduid-1/pids.max'), '50');
  for (const controller of ['cpu', 'cpuset', 'memory', 'pids', 'systemd']) assert.ok(host.has(`${controller}/kubepods/burstable/poduid-1`));
  assert.ok(await host.cgroups.exists(burstable('uid-1', '500m')));
});

test('with v1 a cpuset has the CPUs and memory nodes of its parent at each level', async () => {
  using host = await aHost(1);
  await host.cgroups.ensureExists(aPod());
  for (const path of ['kubepods', 'kubepods/besteffort', 'kubepods/besteffort/poduid-1']) {
    assert.equal(host.read(`cpuset/${path}/cpuset.cpus`), '0-1');
    assert.equal(host.read(`cpuset/${path}/cpuset.mems`), '0');
  }
});

test('the cgroups of the QoS classes are created, BestEffort with the minimum of shares', async () => {
  using host = await aHost(1);
  await host.cgroups.ensureExists(aPod());
  assert.equal(host.read('cpu/kubepods/besteffort/cpu.shares'), '2');
  assert.ok(host.has('cpu/kubepods/burstable'));
});

test('a cgroup that a killed kubelet left without values gets them', async () => {
  using host = await aHost(1);
  const pod = burstable('uid-1', '500m');
  await host.cgroups.ensureExists(pod);
  writeFileSync(join(host.root, 'cpu/kubepods/burstable/poduid-1/cpu.shares'), '1024\n');
  await host.cgroups.ensureExists(pod);
  assert.equal(host.read('cpu/kubepods/burstable/poduid-1/cpu.shares'), '512');
});

test('the values of cgroups that belong to no pod are set; one that fails does not stop the others', async () => {
  using host = await aHost(1);
  const { failures } = await host.cgroups.syncCgroups({
    cgroups: [
      { cgroup: '/missing', resources: { cpuShares: 512 }, create: false },
      { cgroup: ['kubepods'], resources: { cpuShares: 2048 }, create: true },
    ],
  });
  assert.deepEqual(failures, ['cgroup ["missing"] does not exist, or lacks controllers', null]);
  assert.equal(host.read('cpu/kubepods/cpu.shares'), '2048');
});

test('the pods that have a cgroup are listed, whatever hierarchy it is in', async () => {
  using host = await aHost(1);
  await host.cgroups.ensureExists(burstable('uid-1', '500m'));
  mkdirSync(join(host.root, 'memory/kubepods/poduid-2'), { recursive: true });
  // Names that no pod can have: another UID or another folder would be removed.
  for (const name of ['pod..', 'pod.', 'poda_b', 'pod']) mkdirSync(join(host.root, 'memory/kubepods', name));
  assert.deepEqual((await host.cgroups.listPods()).toSorted(), ['uid-1', 'uid-2']);
});

test('with v2 controllers are enabled level by level, and the values are converted', async () => {
  using host = await aHost(2);
  await host.cgroups.ensureExists(burstable('uid-1', '500m'));
  assert.equal(host.read('kubepods/burstable/poduid-1/cpu.weight'), '20');
  assert.equal(host.read('cgroup.subtree_control'), '+pids');
  assert.equal(host.read('kubepods/cgroup.subtree_control'), '+pids');
});

test('with MemoryQoS a resize changes what the kernel protects, and what it does not protect any more', async () => {
  using host = await aHost(2, { reservesMemory: true });
  const podOf = (memory?: string) =>
    aPod({ containers: [aContainer('app', { resources: { requests: { cpu: '500m', ...(memory && { memory }) } } })] });
  await host.cgroups.ensureExists(podOf('64Mi'));
  const files = ['memory.low', 'memory.min', 'memory.high'];
  const read = () => files.map((file) => host.read(`kubepods/burstable/poduid-1/${file}`));
  writeFileSync(join(host.root, 'kubepods/burstable/poduid-1/memory.min'), '0');
  writeFileSync(join(host.root, 'kubepods/burstable/poduid-1/memory.high'), 'max');
  const changed = async (memory?: string) => {
    const { unified = [] } = (await host.cgroups.resizableValues(podOf(memory))) ?? {};
    return unified.filter(({ current, desired }) => current !== desired).map(({ file, text }) => [file, text]);
  };
  assert.deepEqual(
    [await changed('64Mi'), await changed('100M'), await changed()],
    [[], [['memory.low', '100000000']], [['memory.low', '0']]],
  );
  await host.cgroups.setResizableValue(podOf('100M'), 'memory');
  assert.deepEqual(read(), ['100000000', '0', 'max']);
  // As the kernel keeps it.
  writeFileSync(join(host.root, 'kubepods/burstable/poduid-1/memory.low'), '99999744');
  assert.deepEqual(await changed('100M'), []);
  await host.cgroups.setResizableValue(podOf(), 'memory');
  assert.deepEqual(read(), ['0', '0', 'max']);
});

test('where a pod’s cgroup is not as it was allocated is reported, with both versions', async () => {
  const amounts = { cpu: '500m', memory: '64Mi' };
  const pod = aPod({ containers: [aContainer('app', { resources: { requests: amounts, limits: amounts } })] });
  for (const { version, values } of [
    {
      version: 1,
      values: { 'memory/%/memory.limit_in_bytes': '9223372036854771712', 'cpu/%/cpu.cfs_quota_us': '-1', 'cpu/%/cpu.shares': '256' },
    },
    { version: 2, values: { '%/memory.max': 'max', '%/cpu.max': 'max 100000', '%/cpu.weight': '10' } },
  ] as const) {
    using host = await aHost(version);
    // It has no cgroup.
    assert.equal(await host.cgroups.difference(pod), null);
    await host.cgroups.ensureExists(pod);
    assert.equal(await host.cgroups.difference(pod), null);
    for (const [file, text] of Object.entries(values)) writeFileSync(join(host.root, file.replace('%', 'kubepods/poduid-1')), text);
    const cpuShares = version === 1 ? 256 : 237;
    assert.deepEqual(await host.cgroups.difference(pod), { memoryLimit: null, cpuLimit: null, cpuShares });
  }
});

test('with v2 the kernel kills the processes of a pod; none is killed by its number, which may be that of another by then', async () => {
  using host = await aHost(2);
  await host.cgroups.ensureExists(aPod());
  const file = (name: string) => join(host.root, 'kubepods/besteffort/poduid-1', name);
  writeFileSync(file('cgroup.procs'), '901\n902\n');
  writeFileSync(file('cgroup.kill'), '');
  const signal = new AbortController().signal;
  await host.cgroups.kill('uid-1' as PodUID, signal);
  assert.deepEqual([readFileSync(file('cgroup.kill'), 'utf8'), host.killed], ['1', []]);
  // Before Linux 5.14.
  rmSync(file('cgroup.kill'));
  await host.cgroups.kill('uid-1' as PodUID, signal);
  assert.deepEqual(host.killed, [901, 902]);
});

test('with v2 a cgroup that lacks a controller of pods does not count as existing', async () => {
  using host = await aHost(2);
  await host.cgroups.ensureExists(aPod());
  assert.equal(await host.cgroups.exists(aPod()), false);
  writeFileSync(join(host.root, 'kubepods/besteffort/poduid-1/cgroup.controllers'), 'pids memory cpu\n');
  assert.equal(await host.cgroups.exists(aPod()), true);
});

test('without cgroupsPerQOS no cgroup is created and no parent is named', async () => {
  using host = await aHost(1, { cgroupsPerQOS: false });
  assert.equal(host.cgroups.cgroupParent(aPod()), '');
  assert.equal(await host.cgroups.exists(aPod()), true);
  await host.cgroups.ensureExists(aPod());
  await host.cgroups.remove('uid-1' as PodUID, AbortSignal.abort());
  assert.ok(!host.has('cpu/kubepods'));
});

test('a UID that contains a path is rejected', async () => {
  using host = await aHost(1);
  await assert.rejects(host.cgroups.ensureExists(aPod({}, { uid: '../../../etc' })), /cannot be part of a cgroup's name/);
});

test('removing a cgroup that does not exist is a success', async () => {
  using host = await aHost(1);
  await host.cgroups.remove('uid-9' as PodUID, new AbortController().signal);
});
