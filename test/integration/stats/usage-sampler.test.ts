import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import type { ContainerID, PodUID, SandboxID } from '../../../src/shared/kubernetes/ids.ts';
import { CriClient } from '../../../src/shared/cri/client.ts';
import { createRuntimeSnapshot, RuntimeSnapshotWriter } from '../../../src/shared/state/runtime-snapshot.ts';
import { createUsageTable, isMeasured, UsageReader, type CgroupIdentity } from '../../../src/shared/state/usage-table.ts';
import { containerIDOfCgroup } from '../../../src/workers/stats/container-cgroup-names.ts';
import { HandleBudget } from '../../../src/workers/stats/cgroup-file.ts';
import { createCgroupReader, type CgroupHierarchy } from '../../../src/workers/stats/cgroup-reader.ts';
import { toBoundedJSON } from '../../../src/workers/stats/parse-cgroup-files.ts';
import { RuntimeContainerStats } from '../../../src/workers/stats/runtime-stats/container-stats.ts';
import type { RuntimeUsage } from '../../../src/workers/stats/runtime-stats/to-usage.ts';
import { UsageSampler } from '../../../src/workers/stats/usage-sampler.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { aLogger } from '../../support/logger.ts';
import { startSimulatedRuntime, waitUntil } from '../../support/runtime/simulated-runtime.ts';

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
const want = { cpuUsageNs: 5_000_000n, memoryUsageBytes: 1000, memoryWorkingSetBytes: 600, memoryRssBytes: 300, threads: 7 };

function read(hierarchy: CgroupHierarchy, path: string) {
  const reader = createCgroupReader(hierarchy, path, { handles: new HandleBudget(3), maxIoBytes: 1022, hasSubCgroups: false });
  const values = reader.read();
  // A second read uses kept handles, as far as the budget goes.
  assert.deepEqual(reader.read(), values);
  const limits = reader.readLimits();
  reader.close();
  if (!values) return undefined;
  const { cpuUsageNs, memoryUsageBytes, memoryWorkingSetBytes, memoryRssBytes, threads } = values;
  return { values, limits, main: { cpuUsageNs, memoryUsageBytes, memoryWorkingSetBytes, memoryRssBytes, threads } };
}

test('a cgroup v2 is read as cadvisor reads it', () => {
  const root = aTree({
    ...v2('a/b', 5000),
    'a/b/cpu.max': '20000 100000\n',
    'a/b/cpu.weight': '39\n',
    'a/b/memory.max': '4096\n',
    'a/b/memory.swap.max': 'max\n',
    'a/b/memory.swap.current': '12\n',
    'a/b/pids.max': 'max\n',
    'a/b/io.stat': '8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=0 dios=0\n',
    'a/b/memory.pressure': 'some avg10=1.50 avg60=0.20 avg300=0.03 total=77\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=5\n',
  });
  const { main, values, limits } = read({ version: 2, root }, '/a/b')!;
  assert.deepEqual(main, want);
  assert.deepEqual([values.cpuUserNs, values.cpuSystemNs, values.swapBytes], [1000, 2000, 12]);
  assert.deepEqual([values.memorySomeTotalUs, values.memorySomeAvg10, values.memoryFullTotalUs, values.cpuSomeTotalUs], [77, 1.5, 5, 0]);
  assert.equal(values.io, '[{"device":"8:0","bytes":{"Read":1,"Write":2},"operations":{"Read":3,"Write":4}}]');
  assert.deepEqual(limits, {
    cpuShares: 998,
    cpuPeriodUs: 100_000,
    cpuQuotaUs: 20_000,
    memoryLimitBytes: 4096,
    memorySwapLimitBytes: Infinity,
    memoryReservationBytes: 0,
    threadsMax: 0,
  });
});

test('a cgroup v1 is read including its children', () => {
  const root = aTree({
    ...v1('a/b', '5000000'),
    'cpuacct/a/b/cpuacct.stat': 'user 3\nsystem 4\n',
    'cpu/a/b/cpu.stat': 'nr_periods 9\nnr_throttled 2\nthrottled_time 300\n',
    'cpu/a/b/cpu.shares': '204\n',
    'cpu/a/b/cpu.cfs_quota_us': '-1\n',
    'cpu/a/b/cpu.cfs_period_us': '100000\n',
    'memory/a/b/memory.limit_in_bytes': '9223372036854771712\n',
    'pids/a/b/pids.max': '100\n',
    'blkio/a/b/blkio.bfq.io_service_bytes_recursive': 'Total 0\n',
    'blkio/a/b/blkio.throttle.io_service_bytes_recursive': '254:0 Read 4096\n254:0 Total 4096\nTotal 4096\n',
    'blkio/a/b/blkio.throttle.io_serviced_recursive': '254:0 Read 1\nTotal 1\n',
  });
  const { main, values, limits } = read({ version: 1, root }, '/a/b')!;
  assert.deepEqual(main, want);
  assert.deepEqual([values.cpuUserNs, values.cpuSystemNs, values.cfsPeriods, values.cfsThrottledNs], [30_000_000, 40_000_000, 9, 300]);
  assert.equal(values.io, '[{"device":"254:0","bytes":{"Read":4096,"Total":4096},"operations":{"Read":1}}]');
  assert.deepEqual([limits.cpuShares, limits.cpuQuotaUs, limits.memoryLimitBytes, limits.threadsMax], [204, 0, Infinity, 100]);
});

test('processor time beyond 2^53 ns stays exact', () => {
  assert.equal(read({ version: 1, root: aTree(v1('a', '9007199254740993')) }, '/a')?.main.cpuUsageNs, 9007199254740993n);
});

test('a working set is never below zero, although the counters are read at different moments', () => {
  assert.equal(read({ version: 2, root: aTree(v2('a', 1, 100)) }, '/a')?.main.memoryWorkingSetBytes, 0);
});

test('a cgroup without controllers has usage 0, and a cgroup that is gone has none', () => {
  const root = aTree({ 'a/cpu.stat': 'usage_usec 5000\n', 'b/cpu.stat': 'garbage' });
  assert.deepEqual(read({ version: 2, root }, '/a')?.main, {
    cpuUsageNs: 5_000_000n,
    memoryUsageBytes: 0,
    memoryWorkingSetBytes: 0,
    memoryRssBytes: 0,
    threads: 0,
  });
  assert.equal(read({ version: 2, root }, '/b')?.main.cpuUsageNs, 0n);
  assert.equal(read({ version: 2, root }, '/c'), undefined);
});

const folders: [string, string][] = [
  ['4f5e', '4f5e'],
  ['cri-containerd-4f5e.scope', '4f5e'],
  ['crio-4f5e.scope', '4f5e'],
  ['crio-4f5e', '4f5e'],
  ['crio-conmon-4f5e.scope', ''],
  ['crio-conmon-4f5e', ''],
];
for (const [folder, id] of folders)
  test(`${folder} is the cgroup of container ${id || '(none)'}`, () => assert.equal(containerIDOfCgroup(folder), id));

function aSampler(root: string, maxPods = 10) {
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
    image: 'busybox',
  } as const;
  const add = (id: string, containerName: string, createdAtMs = 0) =>
    runtime.add({ ...common, createdAtMs, kind: containerName === '' ? 'sandbox' : 'container', id: id as ContainerID, containerName })!;
  const sandboxRow = add('s1', '');
  const containerRow = add('c1', 'app');
  const usage = createUsageTable(maxPods);
  const { logger, lines } = aLogger();
  const clock = new FakeClock(5000);
  const options = {
    usage,
    snapshot,
    hierarchy: { version: 2, root },
    driver: () => 'cgroupfs' as const,
    cgroupRoot: '/',
    systemCgroups: { kubelet: '', runtime: '/runtime', misc: '' },
    maxHandles: 8,
    machineMemory: () => ({ memoryBytes: 8000, swapBytes: 0, swapUsedBytes: 0 }),
    proc: '/proc',
    readNetwork: (pid: number) => JSON.stringify([{ name: `eth${pid}` }]),
    readLogs: ({ metadata }: { metadata: { name: string } }, container: string) =>
      metadata.name === 'p' && container === 'app' ? { bytes: 4096, inodes: 1 } : undefined,
    clock,
    logger,
  } as const;
  const rows = (withoutCgroup = false) =>
    new UsageReader(usage)
      .all()
      .filter(({ identity }) => withoutCgroup || identity.path !== '')
      .map(({ identity, values }) => `${identity.kind} ${identity.podUID}/${identity.containerName} ${values.cpuUsageNs}`)
      .sort();
  return { options, rows, lines, clock, runtime, add, containerRow, sandboxRow };
}

test('pods, sandboxes and containers are sampled; unknown cgroups are not', async () => {
  const root = aTree({
    ...v2('', 9),
    ...v2('runtime', 4),
    ...v2('kubepods', 8),
    ...v2('kubepods/poda', 3),
    ...v2('kubepods/poda/c1', 1),
    ...v2('kubepods/poda/s1', 2),
    'kubepods/poda/s1/cgroup.procs': '12\n13\n',
    ...v2('kubepods/poda/x', 1),
    ...v2('kubepods/other', 1),
    ...v2('system/podx', 1),
  });
  const { options, rows, clock } = aSampler(root);
  const sampler = new UsageSampler(options);
  await sampler.sample();
  assert.deepEqual(rows(), [
    'container a/app 1000',
    'pod a/ 3000',
    'pods / 8000',
    'qos / 8000',
    'root / 9000',
    'runtime / 4000',
    'sandbox a/ 2000',
  ]);
  writeFileSync(join(root, 'kubepods/poda/c1/cpu.stat'), 'usage_usec 5000001\n');
  await clock.advance(10_000);
  await sampler.sample();
  sampler.close();
  const byKind = new Map(new UsageReader(options.usage).all().map((row) => [row.identity.kind, row]));
  const { identity, values } = byKind.get('container')!;
  assert.deepEqual([identity.containerID, identity.podName, identity.podNamespace], ['c1', 'p', 'n']);
  assert.deepEqual(
    [values.sampledAtMs, values.memoryWorkingSetBytes, values.cpuNanoCores, values.logBytes],
    [15_000, 600, 500_000_000, 4096],
  );
  const sandbox = byKind.get('sandbox')!;
  assert.deepEqual([sandbox.values.network, sandbox.values.processes], ['[{"name":"eth12"}]', 2]);
  assert.equal(byKind.get('root')!.values.memoryLimitBytes, 8000);
});

test('pods are found in the slices of the systemd driver, below a root of their own', async () => {
  const slice = 'own.slice/own-kubepods.slice/own-kubepods-burstable.slice/own-kubepods-burstable-poda.slice';
  const root = aTree({ ...v2(slice, 3), ...v2(`${slice}/cri-containerd-c1.scope`, 1) });
  const { options, rows } = aSampler(root);
  await new UsageSampler({ ...options, driver: () => 'systemd', cgroupRoot: '/own' }).sample();
  assert.deepEqual(rows(), ['container a/app 1000', 'pod a/ 3000']);
});

test('pods are found on cgroup v1', async () => {
  const root = aTree({ ...v1('kubepods/besteffort/poda', '3'), ...v1('kubepods/besteffort/poda/c1', '1') });
  const { options, rows } = aSampler(root);
  await new UsageSampler({ ...options, hierarchy: { version: 1, root } }).sample();
  assert.deepEqual(rows(), ['container a/app 1', 'pod a/ 3']);
});

test('rows of cgroups that are gone are freed; a container that starts later is found', async () => {
  const root = aTree({ ...v2('kubepods/poda/c1', 1), ...v2('kubepods/poda', 1), ...v2('kubepods/podb', 1) });
  const { options, rows, add, runtime, containerRow } = aSampler(root);
  // A kept handle of a removed file can still be read here; the cgroup filesystem answers ENODEV.
  const sampler = new UsageSampler({ ...options, maxHandles: 0 });
  await sampler.sample();
  assert.deepEqual(rows(), ['container a/app 1000', 'pod a/ 1000', 'pod b/ 1000']);
  rmSync(join(root, 'kubepods/podb'), { recursive: true });
  rmSync(join(root, 'kubepods/poda/c1'), { recursive: true });
  await sampler.sample();
  assert.deepEqual(rows(), ['pod a/ 1000']);
  for (const [path, content] of Object.entries(v2('c2', 7))) {
    mkdirSync(dirname(join(root, 'kubepods/poda', path)), { recursive: true });
    writeFileSync(join(root, 'kubepods/poda', path), content);
  }
  runtime.setState(containerRow, 'exited');
  add('c2', 'app');
  await sampler.sample();
  assert.deepEqual(rows(), ['container a/app 7000', 'pod a/ 1000']);
});

test('a kill by the kernel counts for the measured cgroup that contains the process', async () => {
  const root = aTree({ ...v2('kubepods/poda/c1', 1), ...v2('kubepods/poda', 1) });
  const { options } = aSampler(root);
  const sampler = new UsageSampler(options);
  for (const cgroup of ['/kubepods/poda/c1/child', '/kubepods/poda/c1', '/elsewhere', '/', '']) sampler.countKill(cgroup);
  await sampler.sample();
  const counts = new UsageReader(options.usage).all().map(({ identity, values }) => [identity.kind, values.oomEvents] as const);
  // The cgroup '' is that of no sandbox without a cgroup.
  assert.deepEqual(
    new Map(counts),
    new Map([
      ['container', 2],
      ['pod', 0],
      ['sandbox', 0],
    ]),
  );
});

test('a successor keeps the rows until it has measured, and then only those of cgroups that exist', async () => {
  const root = aTree({ ...v2('kubepods/poda/c1', 1), ...v2('kubepods/poda', 1) });
  const { options, rows } = aSampler(root);
  await new UsageSampler(options).sample();
  const successor = new UsageSampler(options);
  // The pages have the rows of the predecessor until the first sample.
  assert.deepEqual(rows(), ['container a/app 1000', 'pod a/ 1000']);
  rmSync(join(root, 'kubepods/poda/c1'), { recursive: true });
  assert.equal(await successor.sample(), 3);
  assert.deepEqual(rows(), ['pod a/ 1000']);
});

test('a container starts when the runtime has created it, whatever the time of its directory', async () => {
  const root = aTree({ ...v2('kubepods/poda/c2', 1), ...v2('kubepods/poda', 1) });
  const { options, add } = aSampler(root);
  add('c2', 'other', 1234);
  await new UsageSampler(options).sample();
  const container = new UsageReader(options.usage).all().find(({ identity }) => identity.kind === 'container');
  assert.equal(container?.identity.createdAtMs, 1234);
});

test('the cgroup of a pod keeps its name between two sandboxes', async () => {
  const root = aTree({ ...v2('kubepods/poda/c1', 1), ...v2('kubepods/poda', 1) });
  const { options, runtime, containerRow, sandboxRow } = aSampler(root);
  const podName = () => new UsageReader(options.usage).all().find(({ identity }) => identity.kind === 'pod')?.identity.podName;
  const sampler = new UsageSampler(options);
  await sampler.sample();
  assert.equal(podName(), 'p');
  for (const row of [containerRow, sandboxRow]) runtime.setState(row, 'exited');
  await sampler.sample();
  assert.equal(podName(), 'p');
  // Another kubelet finds the exited sandbox only.
  const successor = new UsageSampler(options);
  await successor.sample();
  assert.equal(podName(), 'p');
  for (const row of [containerRow, sandboxRow]) runtime.remove(row);
  await successor.sample();
  assert.equal(podName(), 'p');
});

test('the node has all of its disks and interfaces, a tenant as many as fit', async () => {
  const ioStat = Array.from({ length: 60 }, (_, i) => `8:${i} rbytes=1 wbytes=2 rios=3 wios=4 dbytes=0 dios=0\n`).join('');
  const root = aTree({
    ...v2('', 9),
    'io.stat': ioStat,
    ...v2('kubepods/poda', 1),
    ...v2('kubepods/poda/c1', 1),
    'kubepods/poda/c1/io.stat': ioStat,
  });
  const { options } = aSampler(root);
  const interfaces = Array.from({ length: 400 }, (_, i) => ({ name: `cali${i}`, rxBytes: 123_456_789_012, txBytes: 123_456_789_012 }));
  await new UsageSampler({ ...options, readNetwork: (_pid, maxBytes) => toBoundedJSON(interfaces, maxBytes) }).sample();
  const found = new Map(new UsageReader(options.usage).all().map((row) => [row.identity.kind, row.values]));
  const counts = ['root', 'container'].map((kind) => {
    const { io, network } = found.get(kind as CgroupIdentity['kind'])!;
    return [JSON.parse(io).length, JSON.parse(network).length];
  });
  assert.deepEqual(counts, [
    [60, 400],
    [12, 0],
  ]);
});

test('the threads of a cgroup without the file are its processes', () => {
  const root = aTree({ 'cpu.stat': 'usage_usec 5\n', 'cgroup.procs': '1\n2\n70\n' });
  assert.equal(read({ version: 2, root }, '/')?.main.threads, 3);
});

test('a container without a cgroup has its logs, and the usage that the runtime is asked for', async () => {
  const root = aTree({ ...v2('kubepods/poda', 3), 'kubepods/poda/kata_s1/cgroup.procs': '1\n21\n' });
  const proc = aTree({ 'x/y': '' });
  for (const [pid, namespace] of Object.entries({ 1: 'net:[1]', 21: 'net:[2]' })) {
    mkdirSync(join(proc, pid, 'ns'), { recursive: true });
    symlinkSync(namespace, join(proc, pid, 'ns/net'));
  }
  const { options, rows } = aSampler(root);
  const asked: (readonly string[])[] = [];
  const containerStats = (ids: readonly string[]) => {
    asked.push(ids);
    return new Map(asked.length > 1 ? [['c1', { cpuUsageNs: 7n, memoryWorkingSetBytes: 42, sampledAtMs: 9000 }]] : []);
  };
  const sampler = new UsageSampler({ ...options, proc, containerStats });
  const found = (kind: string) => new UsageReader(options.usage).all().find(({ identity }) => identity.kind === kind)!;
  await sampler.sample();
  assert.deepEqual([found('container').values.logBytes, isMeasured(found('container')), asked], [4096, false, []]);
  // A process of the virtual machine is in the network of the pod, and one of the runtime in that of the host.
  assert.equal(found('sandbox').values.network, '[{"name":"eth21"}]');
  await sampler.sample();
  assert.equal(isMeasured(found('container')), false);
  await sampler.sample();
  assert.deepEqual(asked, [['c1'], ['c1']]);
  const { memoryWorkingSetBytes, sampledAtMs, logBytes } = found('container').values;
  assert.deepEqual([memoryWorkingSetBytes, sampledAtMs, logBytes], [42, 9000, 4096]);
  assert.deepEqual(rows(true), ['container a/app 7', 'pod a/ 3000', 'sandbox a/ 0']);
});

test('containers of a virtual machine have what containerd measures of them', async (t) => {
  const { control, endpoint } = await startSimulatedRuntime(t, { containerStats: 'kata' });
  const [pod] = await control.seed({ pods: 1, containersPerPod: 1 });
  const [id = ''] = pod!.containerIDs;
  // The monitor and the machine are in one cgroup, which is named by the sandbox.
  const root = aTree({ ...v2('kubepods/poda', 300), ...v2(`kubepods/poda/kata_${pod!.sandboxID}`, 200) });
  const { options, add, rows, clock } = aSampler(root);
  add(id, 'machine');
  const client = new CriClient({ endpoint });
  t.after(() => client.close());
  const runtimeStats = new RuntimeContainerStats({ connect: async () => client.runtime, clock: options.clock, logger: options.logger });
  const sampler = new UsageSampler({ ...options, containerStats: (ids) => runtimeStats.of(ids) });
  const machine = () => new UsageReader(options.usage).all().find(({ identity }) => identity.containerName === 'machine')!;
  const { values, identity } = await waitUntil('the machine is measured twice', async () => {
    await sampler.sample();
    await clock.advance(1000);
    const row = machine();
    return isMeasured(row) && row.values.cpuNanoCores > 0 ? row : undefined;
  });
  // 5 millicores and up to 24 MiB, of which nothing is known but the sum.
  assert.ok(values.memoryWorkingSetBytes > 8e6 && values.memoryWorkingSetBytes < 26e6 && values.cpuUsageNs > 0n);
  assert.ok(values.cpuNanoCores > 4e6 && values.cpuNanoCores < 6e6, `${values.cpuNanoCores} nano cores`);
  assert.deepEqual([values.memoryRssBytes, identity.path, values.processes], [0, '', 0]);
  assert.ok(rows().includes('pod a/ 300000'));
});

test('a container whose cgroup is empty has the usage that the runtime is asked for, and the limits of its cgroup', async () => {
  // gVisor: all processes are in the cgroup of the sandbox.
  const root = aTree({
    ...v2('kubepods/poda', 9),
    ...v2('kubepods/poda/s1', 9),
    'kubepods/poda/s1/cgroup.procs': '12\n',
    ...v2('kubepods/poda/c1', 0, 0),
    'kubepods/poda/c1/memory.max': '4096\n',
  });
  const { options, rows } = aSampler(root);
  const asked: (readonly string[])[] = [];
  const stats = { cpuUsageNs: 7n, memoryWorkingSetBytes: 42, memoryLimitBytes: Infinity, sampledAtMs: 90_000 };
  const containerStats = (ids: readonly string[]) => {
    asked.push(ids);
    return new Map(asked.length > 1 ? [['c1', stats]] : []);
  };
  const sampler = new UsageSampler({ ...options, containerStats });
  const container = () => new UsageReader(options.usage).all().find(({ identity }) => identity.kind === 'container')!;
  await sampler.sample();
  assert.deepEqual([isMeasured(container()), asked], [false, []]);
  await sampler.sample();
  assert.deepEqual([isMeasured(container()), asked], [false, [['c1']]]);
  await sampler.sample();
  const { memoryWorkingSetBytes, memoryLimitBytes, cpuNanoCores } = container().values;
  assert.deepEqual([memoryWorkingSetBytes, memoryLimitBytes, container().identity.path], [42, 4096, '/kubepods/poda/c1']);
  assert.ok(Number.isNaN(cpuNanoCores), 'a rate since the container has started');
  assert.deepEqual(rows(), ['container a/app 7', 'pod a/ 9000', 'sandbox a/ 9000']);
  // The first process of another kind of runtime: the cgroup counts.
  writeFileSync(join(root, 'kubepods/poda/c1/cpu.stat'), 'usage_usec 5\n');
  await sampler.sample();
  await sampler.sample();
  assert.deepEqual([rows()[0], asked.length], ['container a/app 5000', 3]);
});

test('the network of a pod is that of the process which has interfaces', async () => {
  const root = aTree({ ...v2('kubepods/poda', 9), ...v2('kubepods/poda/s1', 9), 'kubepods/poda/s1/cgroup.procs': '20\n1\n20\n21\n22\n' });
  const proc = aTree({ 'x/y': '' });
  // gVisor's gofer has a namespace of its own, without interfaces. A monitor is in that of the host.
  for (const [pid, namespace] of Object.entries({ 1: 'net:[1]', 20: 'net:[2]', 21: 'net:[3]', 22: 'net:[4]' })) {
    mkdirSync(join(proc, pid, 'ns'), { recursive: true });
    symlinkSync(namespace, join(proc, pid, 'ns/net'));
  }
  const { options } = aSampler(root);
  const readPids: number[] = [];
  const readNetwork = (pid: number) => {
    readPids.push(pid);
    return pid === 20 ? '[]' : JSON.stringify([{ name: `eth${pid}` }]);
  };
  await new UsageSampler({ ...options, proc, readNetwork }).sample();
  const sandbox = new UsageReader(options.usage).all().find(({ identity }) => identity.kind === 'sandbox')!;
  assert.deepEqual([sandbox.values.network, readPids], ['[{"name":"eth21"}]', [20, 20, 21]]);
});

test('a container with very many cgroups costs a bounded time, and has a part of its processes', () => {
  const children = Array.from({ length: 500 }, (_, i) => [`a/${i}/cgroup.procs`, `${i + 1}\n`]);
  const root = aTree({ ...v2('a', 1), ...Object.fromEntries(children) });
  const reader = createCgroupReader({ version: 2, root }, '/a', { handles: new HandleBudget(0), maxIoBytes: 1022, hasSubCgroups: true });
  assert.equal(reader.readProcesses().split('\n').filter(Boolean).length, 64);
});

test('processes one level below a container’s cgroup are its processes', async () => {
  const root = aTree({
    ...v2('kubepods/poda', 3),
    ...v2('kubepods/poda/c1', 1),
    'kubepods/poda/c1/container/cgroup.procs': '31\n32\n',
    ...v2('kubepods/poda/s1', 1),
    'kubepods/poda/s1/container/cgroup.procs': '30\n',
    ...v2('kubepods/poda/crio-conmon-c1', 1),
  });
  const { options, rows } = aSampler(root);
  const sampler = new UsageSampler(options);
  await sampler.sample();
  const found = new Map(new UsageReader(options.usage).all().map(({ identity, values }) => [identity.kind, values]));
  assert.deepEqual([found.get('container')!.processes, found.get('sandbox')!.network], [2, '[{"name":"eth30"}]']);
  assert.equal(sampler.processOf('c1'), 31);
  assert.deepEqual(rows(), ['container a/app 1000', 'pod a/ 3000', 'sandbox a/ 1000']);
});

test('a full table is logged once, and sampling continues', async () => {
  const pods = Array.from({ length: 201 }, (_, i) => v2(`kubepods/pod${i}`, 1));
  const { options, lines } = aSampler(aTree(Object.assign({}, ...pods)), 0);
  const sampler = new UsageSampler(options);
  // Of 200 rows, six were for the root, the pods and the QoS classes, which this tree does not have.
  assert.equal(await sampler.sample(), 194);
  assert.equal(await sampler.sample(), 194);
  assert.equal(lines.length, 1);
});

test('what the runtime measures replaces the values of a cgroup, and a container without one is measured too', async () => {
  const root = aTree({ ...v2('kubepods/poda', 3), ...v2('kubepods/poda/c1', 1) });
  const { options, rows, clock } = aSampler(root);
  const identity = {
    kind: 'sandbox',
    path: '',
    podUID: 'a',
    podName: 'p',
    podNamespace: 'n',
    containerName: '',
    containerID: 's1',
  } as const;
  const ofSandbox = { identity: { ...identity, image: '', createdAtMs: 1 } as CgroupIdentity, values: { processes: 4, network: '[]' } };
  const measured = { sampledAtMs: 7000, cpuUsageNs: 1_000_000n, memoryRssBytes: 42 };
  const ofContainer = () => ({ identity: ofSandbox.identity, values: { ...measured } });
  const runtimeUsage = () =>
    new Map<string, RuntimeUsage>([
      ['s1', ofSandbox],
      ['c1', ofContainer()],
    ]);
  const sampler = new UsageSampler({ ...options, runtimeUsage });
  await sampler.sample();
  assert.deepEqual(rows(true), ['container a/app 1000000', 'pod a/ 3000', 'sandbox a/ 0']);
  const container = () => new UsageReader(options.usage).all().find((row) => row.identity.kind === 'container')!.values;
  Object.assign(measured, { sampledAtMs: 8000, cpuUsageNs: 2_000_000n });
  await clock.advance(10_000);
  await sampler.sample();
  const { memoryRssBytes, memoryUsageBytes, sampledAtMs, cpuNanoCores } = container();
  assert.deepEqual([memoryRssBytes, memoryUsageBytes, sampledAtMs, cpuNanoCores], [42, 1000, 8000, 1_000_000]);
  // The runtime has not measured again: the container keeps its usage per second.
  await sampler.sample();
  assert.equal(container().cpuNanoCores, 1_000_000);
  const byKind = new Map(new UsageReader(options.usage).all().map((row) => [row.identity.kind, row]));
  assert.deepEqual([byKind.get('sandbox')!.values.processes, byKind.get('sandbox')!.identity.path], [4, '']);
});
