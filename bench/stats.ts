/**
 * Measures what the usage of 500 pods and 1,000 containers costs: a sample of all their cgroups, and the pages that are rendered from it. The cgroups are real
 * ones of this host, without processes.
 */
import { closeSync, mkdirSync, mkdtempSync, openSync, readSync, rmdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { ContainerID, PodUID, SandboxID } from '../src/shared/kubernetes/ids.ts';
import { createRuntimeSnapshot, RuntimeSnapshotWriter } from '../src/shared/state/runtime-snapshot.ts';
import { createClaimedVolumesTable } from '../src/shared/state/claimed-volumes-table.ts';
import { createStorageTable, StorageWriter, type StorageIdentity } from '../src/shared/state/storage-table.ts';
import { createUsageTable, openFilesystems, UsageWriter, type CgroupIdentity, type UsageValues } from '../src/shared/state/usage-table.ts';
import { systemClock } from '../src/shared/time/clock.ts';
import { encodeText } from '../src/shared/metrics/exposition/text.ts';
import { createStatsPages } from '../src/workers/server/stats/stats-pages.ts';
import { readMachineMemory } from '../src/workers/stats/read-machine-memory.ts';
import { UsageSampler } from '../src/workers/stats/usage-sampler.ts';
import { aLogger } from '../test/support/logger.ts';
import { aUsage } from '../test/support/usage.ts';
import type { Benchmark } from './harness/benchmark.ts';
import { percentile } from './harness/statistics.ts';

const [pods, containersPerPod] = [500, 2];
const cgroupFsRoot = '/sys/fs/cgroup';
const controllers = ['cpu', 'cpuacct', 'memory', 'pids', 'blkio'];
/** The files that the sampler reads of each cgroup on v1, with and without a kept handle. */
const keptFiles = [
  'cpuacct/cpuacct.usage',
  'memory/memory.stat',
  'memory/memory.usage_in_bytes',
  'cpu/cgroup.procs',
  'cpuacct/cpuacct.stat',
  'cpu/cpu.stat',
  'pids/pids.current',
];
const openedFiles = ['memory/memory.max_usage_in_bytes', 'memory/memory.failcnt', 'memory/memory.kmem.usage_in_bytes'];
/** A quarter of the usual limit of open files, as in the kubelet. */
const maxHandles = 5000;
const [samples, renders] = [20, 200];
/** Upstream's housekeeping. */
const periodMs = 10_000;
const goals = { cores: 0.05, summaryMs: 20 };

export const benchmark: Benchmark = {
  name: 'stats',
  about: `The usage of ${pods} pods with ${containersPerPod} containers each, in real cgroups (v1) without processes: the processor time of samples each ${periodMs / 1000} s, and the time to render /stats/summary, with three volumes in each pod. The floor reads the same files and does nothing with them.`,
  needs: 'root',
  async run({ onEnd }) {
    const tree = createTree();
    onEnd(async () => removeTree(tree));
    const usage = createUsageTable(pods);
    const sampler = new UsageSampler({
      usage,
      snapshot: tree.snapshot,
      hierarchy: { version: 1, root: cgroupFsRoot },
      driver: () => 'cgroupfs',
      cgroupRoot: `/${tree.name}`,
      systemCgroups: { kubelet: '', runtime: '', misc: '' },
      maxHandles,
      machineMemory: readMachineMemory,
      readNetwork: () => '[]',
      proc: '/proc',
      readLogs: () => undefined,
      clock: systemClock,
      logger: aLogger().logger,
    });
    const sampleMs = await cpuMsPerRun(samples, () => sampler.sample());
    const floorMs = await cpuMsPerRun(samples, createFloor(tree.paths));
    const pages = createStatsPages({
      nodeName: 'bench',
      usage: createBusyTable(),
      storage: createFullStorage(),
      claimedVolumes: createClaimedVolumesTable(0),
      hasContainerFilesystems: false,
      cgroupFsRoot,
    });
    const summary = () => Array.from(pages.summary(false)).join('');
    const summaryMs = durationsOf(renders, summary);
    const cadvisorMs = durationsOf(renders / 10, () => Array.from(encodeText(pages.cadvisor())).length);
    const pieceMs = durationsOfPieces(renders / 10, () => encodeText(pages.cadvisor()));
    sampler.close();
    const cores = sampleMs / periodMs;
    return {
      repeats: `${samples} samples, ${renders} pages of ${(summary().length / 1e6).toFixed(1)} MB`,
      measurements: [
        {
          what: 'CPU of samples',
          value: cores,
          unit: 'cores',
          floor: { what: 'the same reads', value: floorMs / periodMs },
          goal: { text: `${goals.cores} cores`, met: cores <= goals.cores },
        },
        {
          what: '/stats/summary rendered, p99',
          value: percentile(summaryMs, 99),
          unit: 'ms',
          goal: { text: `${goals.summaryMs} ms`, met: percentile(summaryMs, 99) <= goals.summaryMs },
        },
        { what: '/metrics/cadvisor rendered, p50', value: percentile(cadvisorMs, 50), unit: 'ms' },
        { what: 'one piece of it, after which other requests have their turn, p99', value: percentile(pieceMs, 99), unit: 'ms' },
      ],
    };
  },
};

/** The table of a node whose containers all run: those of the tree have no processes, and are not shown. */
function createBusyTable(): SharedArrayBuffer {
  const buffer = createUsageTable(pods);
  const table = new UsageWriter(buffer);
  const eth0 = {
    name: 'eth0',
    rxBytes: 123_456,
    rxPackets: 2345,
    rxErrors: 0,
    rxDropped: 0,
    txBytes: 654_321,
    txPackets: 5432,
    txErrors: 0,
    txDropped: 0,
  };
  const io = '[{"device":"8:0","bytes":{"Read":40960,"Write":8192},"operations":{"Read":10,"Write":2}}]';
  const add = (identity: Partial<CgroupIdentity>, over: Partial<UsageValues> = {}) => {
    const busy = {
      cpuNanoCores: 1_234_567,
      memoryRssBytes: 23_456_789,
      cpuUsageNs: 123_456_789_012n,
      memoryUsageBytes: 34_567_890,
      ...over,
    };
    const row = aUsage(identity, busy);
    table.put(table.add(row.identity), row.values);
  };
  add({ kind: 'root' });
  for (let pod = 0; pod < pods; pod += 1) {
    const podUID = uidOf(pod);
    const ofPod = { podUID, podName: `web-${pod}`, podNamespace: 'default' };
    const path = `/kubepods/burstable/pod${podUID}`;
    add({ kind: 'pod', path, ...ofPod });
    for (let index = 0; index <= containersPerPod; index += 1) {
      const containerID = idOf(pod, index) as ContainerID;
      const common = { path: `${path}/${containerID}`, containerID, ...ofPod };
      if (index === 0) add({ kind: 'sandbox', ...common }, { network: JSON.stringify([eth0]) });
      else
        add(
          { kind: 'container', containerName: `c${index}`, image: 'registry.example/app:1', ...common },
          { io, logBytes: 4096, logInodes: 1 },
        );
    }
  }
  const filesystems = openFilesystems(buffer, ['root', 'image', 'container']);
  for (const row of [0, 1, 2]) filesystems.put(row, { device: 5, readAtMs: Date.now(), usedBytes: 150e9, inodesUsed: 1e6, ...filesystem });
  return buffer;
}

const filesystem = { capacityBytes: 250e9, availableBytes: 100e9, inodes: 16e6, inodesFree: 15e6 };

/** The table of what the pods use of the node's disks. */
function createFullStorage(): SharedArrayBuffer {
  const buffer = createStorageTable(pods);
  const table = new StorageWriter(buffer);
  const values = { readAtMs: Date.now(), usedBytes: 40_960, inodesUsed: 12, isMountPoint: false, isLowerBound: false, ...filesystem };
  for (let pod = 0; pod < pods; pod += 1) {
    const add = (identity: Pick<StorageIdentity, 'kind'> & Partial<StorageIdentity>) =>
      table.put({ podUID: uidOf(pod), name: '', plugin: '', containerID: '', ...identity }, values);
    for (let index = 1; index <= containersPerPod; index += 1)
      add({ kind: 'container', name: `c${index}`, containerID: idOf(pod, index) as ContainerID });
    for (const plugin of ['empty-dir', 'configmap', 'projected'])
      add({ kind: 'volume', name: `of-${plugin}`, plugin: `kubernetes.io~${plugin}` });
    add({ kind: 'pod-logs' });
    add({ kind: 'etc-hosts' });
  }
  return buffer;
}

function uidOf(pod: number): PodUID {
  return `00000000-0000-4000-8000-${String(pod).padStart(12, '0')}` as PodUID;
}
function idOf(pod: number, index: number): string {
  return `${index}${String(pod).padStart(63, '0')}`;
}

interface Tree {
  readonly name: string;
  /** Of all pods, sandboxes and containers, parents first. */
  readonly paths: readonly string[];
  readonly snapshot: SharedArrayBuffer;
}

function createTree(): Tree {
  const name = basename(mkdtempSync(join(cgroupFsRoot, controllers[0]!, 'stats-bench-')));
  const snapshot = createRuntimeSnapshot(pods);
  const runtime = new RuntimeSnapshotWriter(snapshot);
  const paths = [`/${name}`, `/${name}/kubepods`];
  for (let pod = 0; pod < pods; pod += 1) {
    const podUID = uidOf(pod);
    const path = `/${name}/kubepods/pod${podUID}`;
    paths.push(path);
    for (let index = 0; index <= containersPerPod; index += 1) {
      const id = idOf(pod, index);
      const common = {
        state: 'running',
        attempt: 0,
        createdAtMs: 1,
        sandboxID: id as SandboxID,
        podUID,
        podName: `web-${pod}`,
        podNamespace: 'default',
      } as const;
      if (index === 0) runtime.add({ ...common, kind: 'sandbox', id: id as SandboxID, containerName: '', image: '' });
      else
        runtime.add({ ...common, kind: 'container', id: id as ContainerID, containerName: `c${index}`, image: 'registry.example/app:1' });
      paths.push(`${path}/${id}`);
    }
  }
  for (const path of paths) for (const controller of controllers) mkdirSync(join(cgroupFsRoot, controller, path), { recursive: true });
  return { name, paths, snapshot };
}

function removeTree({ paths }: Tree): void {
  for (const path of paths.toReversed()) for (const controller of controllers) rmdirSync(join(cgroupFsRoot, controller, path));
}

/** Reads the files of all cgroups, with handles kept from the first run. */
function createFloor(paths: readonly string[]): () => Promise<void> {
  const buffer = Buffer.alloc(64 * 1024);
  const inTree = (path: string, file: string) =>
    join(
      cgroupFsRoot,
      file.replace('/', () => `${path}/`),
    );
  const often = paths.flatMap((path) => keptFiles.map((file) => inTree(path, file)));
  const kept = often.slice(0, maxHandles).map((file) => openSync(file, 'r'));
  const opened = [...often.slice(maxHandles), ...paths.flatMap((path) => openedFiles.map((file) => inTree(path, file)))];
  return async () => {
    for (const fd of kept) readSync(fd, buffer, 0, buffer.length, 0);
    for (const file of opened) {
      const fd = openSync(file, 'r');
      readSync(fd, buffer, 0, buffer.length, 0);
      closeSync(fd);
    }
  };
}

/** The processor time of one run in ms, after two runs that warm up. */
async function cpuMsPerRun(runs: number, run: () => Promise<unknown>): Promise<number> {
  for (let warmUp = 0; warmUp < 2; warmUp += 1) await run();
  const { user, system } = process.cpuUsage();
  for (let index = 0; index < runs; index += 1) await run();
  const used = process.cpuUsage({ user, system });
  return (used.user + used.system) / 1000 / runs;
}

function durationsOf(runs: number, run: () => unknown): number[] {
  for (let warmUp = 0; warmUp < 5; warmUp += 1) run();
  return Array.from({ length: runs }, () => {
    const startedAt = performance.now();
    run();
    return performance.now() - startedAt;
  });
}

/** How long the thread is busy with each piece of a page. */
function durationsOfPieces(runs: number, render: () => Iterable<string>): number[] {
  return Array.from({ length: runs }, () => {
    const durations: number[] = [];
    let startedAt = performance.now();
    for (const piece of render()) {
      Buffer.from(piece);
      durations.push(performance.now() - startedAt);
      startedAt = performance.now();
    }
    return durations;
  }).flat();
}
