import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import type { ContainerID, PodUID, SandboxID } from '../../../src/shared/kubernetes/ids.ts';
import { createRuntimeSnapshot, RuntimeSnapshotWriter } from '../../../src/shared/state/runtime-snapshot.ts';
import { usageTable } from '../../../src/shared/state/usage-table.ts';
import { readCgroupUsage } from '../../../src/workers/stats/cgroup-usage.ts';
import { containerIDOfCgroup, findPodCgroups } from '../../../src/workers/stats/find-pod-cgroups.ts';
import { UsageSampler } from '../../../src/workers/stats/usage-sampler.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { aLogger } from '../../support/logger.ts';

const trees: string[] = [];
after(() => trees.forEach((tree) => rmSync(tree, { recursive: true })));

/** A folder with these files. */
function aTree(files: Readonly<Record<string, string>>): string {
  const root = mkdtempSync(join(tmpdir(), 'cgroups-'));
  trees.push(root);
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  }
  return root;
}
const v2 = (path: string, cpuUsec: number, memory = 1000) => ({
  [`${path}/cpu.stat`]: `usage_usec ${cpuUsec}\nuser_usec 1\nsystem_usec 2\n`,
  [`${path}/memory.current`]: `${memory}\n`,
  [`${path}/memory.stat`]: 'anon 300\nfile 700\nkernel_stack 1\ninactive_anon 5\nactive_anon 6\ninactive_file 400\nactive_file 100\n',
  [`${path}/pids.current`]: '7\n',
});
const v1 = (path: string, cpuNs: string) => ({
  [`cpuacct/${path}/cpuacct.usage`]: `${cpuNs}\n`,
  [`memory/${path}/memory.usage_in_bytes`]: '1000\n',
  [`memory/${path}/memory.stat`]: 'cache 1\nrss 2\ninactive_file 3\ntotal_cache 5\ntotal_rss 300\ntotal_inactive_file 400\n',
  [`pids/${path}/pids.current`]: '7\n',
});
const want = { cpuUsageNs: 5_000_000n, memoryUsageBytes: 1000, memoryWorkingSetBytes: 600, memoryRssBytes: 300, pids: 7 };

test('a cgroup v2 is read as cadvisor reads it', () => {
  assert.deepEqual(readCgroupUsage({ version: 2, root: aTree(v2('a/b', 5000)) }, '/a/b'), want);
});

test('a cgroup v1 is read including its children', () => {
  assert.deepEqual(readCgroupUsage({ version: 1, root: aTree(v1('a/b', '5000000')) }, '/a/b'), want);
});

test('processor time beyond 2^53 ns stays exact', () => {
  assert.equal(readCgroupUsage({ version: 1, root: aTree(v1('a', '9007199254740993')) }, '/a')?.cpuUsageNs, 9007199254740993n);
});

test('a working set is never below zero, although the counters are read at different moments', () => {
  assert.equal(readCgroupUsage({ version: 2, root: aTree(v2('a', 1, 100)) }, '/a')?.memoryWorkingSetBytes, 0);
});

test('a cgroup without controllers has usage 0, and a cgroup that is gone has none', () => {
  const root = aTree({ 'a/cpu.stat': 'usage_usec 5000\n', 'b/cpu.stat': 'garbage' });
  assert.deepEqual(readCgroupUsage({ version: 2, root }, '/a'), {
    cpuUsageNs: 5_000_000n,
    memoryUsageBytes: 0,
    memoryWorkingSetBytes: 0,
    memoryRssBytes: 0,
    pids: 0,
  });
  assert.equal(readCgroupUsage({ version: 2, root }, '/b')?.cpuUsageNs, 0n);
  assert.equal(readCgroupUsage({ version: 2, root }, '/c'), undefined);
});

test('pods of every class are found, cgroupfs on v1', () => {
  const root = aTree({
    ...v1('kubepods/podaaa-1/c1', '1'),
    ...v1('kubepods/burstable/podbbb-2', '1'),
    ...v1('kubepods/besteffort/podccc-3/c2', '1'),
    ...v1('kubepods/other', '1'),
    ...v1('system/podxxx', '1'),
  });
  const found = findPodCgroups({ hierarchy: { version: 1, root }, driver: 'cgroupfs', cgroupRoot: '/' });
  assert.deepEqual(found, [
    { podUID: 'aaa-1', path: '/kubepods/podaaa-1', containers: [{ id: 'c1', path: '/kubepods/podaaa-1/c1' }] },
    { podUID: 'bbb-2', path: '/kubepods/burstable/podbbb-2', containers: [] },
    { podUID: 'ccc-3', path: '/kubepods/besteffort/podccc-3', containers: [{ id: 'c2', path: '/kubepods/besteffort/podccc-3/c2' }] },
  ]);
});

test('pods are found in systemd’s slices on v2, below a root of their own', () => {
  const slice = 'own.slice/own-kubepods.slice/own-kubepods-burstable.slice/own-kubepods-burstable-podbbb_2.slice';
  const root = aTree(v2(`${slice}/cri-containerd-c1.scope`, 1));
  const found = findPodCgroups({ hierarchy: { version: 2, root }, driver: 'systemd', cgroupRoot: '/own' });
  assert.deepEqual(found, [{ podUID: 'bbb-2', path: `/${slice}`, containers: [{ id: 'c1', path: `/${slice}/cri-containerd-c1.scope` }] }]);
});

test('a node without pods has no cgroups of them', () => {
  assert.deepEqual(findPodCgroups({ hierarchy: { version: 2, root: aTree({ 'a/b': '' }) }, driver: 'cgroupfs', cgroupRoot: '/' }), []);
});

const folders: [string, string][] = [
  ['4f5e', '4f5e'],
  ['cri-containerd-4f5e.scope', '4f5e'],
  ['crio-4f5e.scope', '4f5e'],
];
for (const [folder, id] of folders) test(`${folder} is the cgroup of container ${id}`, () => assert.equal(containerIDOfCgroup(folder), id));

function aSampler(root: string, capacity = 10) {
  const snapshot = createRuntimeSnapshot(10);
  const runtime = new RuntimeSnapshotWriter(snapshot);
  const common = {
    state: 'running',
    attempt: 0,
    createdAtMs: 0,
    sandboxID: 's1' as SandboxID,
    podUID: 'a' as PodUID,
    podName: 'p',
    podNamespace: 'n',
  } as const;
  runtime.add({ ...common, kind: 'sandbox', id: 's1' as SandboxID, containerName: '' });
  runtime.add({ ...common, kind: 'container', id: 'c1' as ContainerID, containerName: 'app' });
  const usage = usageTable.create(capacity);
  const { logger, lines } = aLogger();
  const options = {
    usage,
    snapshot,
    hierarchy: { version: 2, root },
    driver: () => 'cgroupfs' as const,
    cgroupRoot: '/',
    clock: new FakeClock(5000),
    logger,
  } as const;
  const rows = () =>
    Array.from(
      usageTable.reader(usage).rows(),
      ([, { podUID, containerName, cpuUsageNs }]) => `${podUID}/${containerName} ${cpuUsageNs}`,
    ).sort();
  return { options, rows, lines };
}

test('a pod and its containers are sampled; sandboxes and unknown containers are not', async () => {
  const root = aTree({
    ...v2('kubepods/poda', 3),
    ...v2('kubepods/poda/c1', 1),
    ...v2('kubepods/poda/s1', 1),
    ...v2('kubepods/poda/x', 1),
  });
  const { options, rows } = aSampler(root);
  assert.equal(await new UsageSampler(options).sample(), 2);
  assert.deepEqual(rows(), ['a/ 3000', 'a/app 1000']);
  const [, row] = [...usageTable.reader(options.usage).rows()][1]!;
  assert.deepEqual([row.containerID, row.sampledAtMs, row.memoryWorkingSetBytes], ['c1', 5000, 600]);
});

test('a sample updates the rows and frees those of cgroups that are gone; a successor keeps existing rows', async () => {
  const root = aTree({ ...v2('kubepods/poda/c1', 1), ...v2('kubepods/poda', 1), ...v2('kubepods/podb', 1) });
  const { options, rows } = aSampler(root);
  await new UsageSampler(options).sample();
  assert.deepEqual(rows(), ['a/ 1000', 'a/app 1000', 'b/ 1000']);
  rmSync(join(root, 'kubepods/podb'), { recursive: true });
  writeFileSync(join(root, 'kubepods/poda/cpu.stat'), 'usage_usec 9\n');
  assert.equal(await new UsageSampler(options).sample(), 2);
  assert.deepEqual(rows(), ['a/ 9000', 'a/app 1000']);
});

test('a full table is logged once, and sampling continues', async () => {
  const root = aTree({ ...v2('kubepods/poda', 1), ...v2('kubepods/podb', 1), ...v2('kubepods/podc', 1) });
  const { options, rows, lines } = aSampler(root, 1);
  const sampler = new UsageSampler(options);
  assert.equal(await sampler.sample(), 1);
  await sampler.sample();
  assert.equal(rows().length, 1);
  assert.equal(lines.length, 1);
});
