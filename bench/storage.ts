/**
 * Measures what the disk usage of 200 pods costs, each with a volume and a writable layer, beside a pod with very many files: processor time of the stats thread's
 * part and of the helper process, and how old the measurements of the ordinary pods are.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ContainerID, PodUID, SandboxID } from '../src/shared/kubernetes/ids.ts';
import { createRuntimeSnapshot, RuntimeSnapshotWriter } from '../src/shared/state/runtime-snapshot.ts';
import { createStorageTable, StorageReader } from '../src/shared/state/storage-table.ts';
import { systemClock } from '../src/shared/time/clock.ts';
import { StorageSampler } from '../src/workers/stats/storage/storage-sampler.ts';
import { aLogger } from '../test/support/logger.ts';
import type { Benchmark } from './harness/benchmark.ts';
import { percentile } from './harness/statistics.ts';

const pods = 200;
const filesPerTree = 50;
/** Of the large pod. */
const manyFiles = 300_000;
/** Upstream's default for volumes is 60 s. Shorter, so that the measured time has several rounds. */
const volumeStatsPeriodMs = 10_000;
const [warmUpMs, measuredMs] = [20_000, 60_000];
const goals = { cores: 0.05, ageMs: 30_000 };

export const benchmark: Benchmark = {
  name: 'storage',
  about: `The disk usage of ${pods} pods, each with a volume and a writable layer of ${filesPerTree} files, beside a pod with a volume of ${manyFiles} files: the processor time of the walks, and the age of the measurements.`,
  needs: 'root',
  async run({ onEnd }) {
    // Not below /tmp, which may be in memory.
    const folder = mkdtempSync('/var/tmp/bench-storage-');
    onEnd(async () => void execFileSync('rm', ['-rf', folder]));
    const { rootDir, mountTable, snapshot, largeUID } = createNode(folder);
    const storage = createStorageTable(pods + 1);
    const stop = new AbortController();
    const sampler = new StorageSampler({
      rootDir,
      podLogsDir: join(folder, 'logs'),
      storage,
      snapshot,
      volumeStatsPeriodMs,
      processOf: () => undefined,
      askDriver: async () => ({ outcome: 'absent' }),
      listRuntimeLayers: () => Promise.reject(new Error('no runtime')),
      mountTable,
      clock: systemClock,
      logger: aLogger().logger,
    });
    const running = sampler.run(stop.signal);
    onEnd(async () => {
      stop.abort();
      await sampler.close();
      await running;
    });
    await sleep(warmUpMs);
    const helper = helperPid();
    const before = { thread: threadCpuMs(), helper: processCpuMs(helper) };
    await sleep(measuredMs);
    const thread = (threadCpuMs() - before.thread) / measuredMs;
    const walks = (processCpuMs(helper) - before.helper) / measuredMs;
    const reader = new StorageReader(storage);
    const ages = [...reader.all()].flatMap(([uid, { volumes, containers }]) =>
      uid === largeUID ? [] : [...volumes.values(), ...containers.values()].map(({ readAtMs }) => Date.now() - readAtMs),
    );
    const ageMs = percentile(ages, 99);
    return {
      repeats: `${measuredMs / 1000} s, ${ages.length} trees; the large volume has at least ${reader.pod(largeUID).volumes.get('data')?.inodesUsed} inodes`,
      measurements: [
        {
          what: 'CPU of the helper process',
          value: walks,
          unit: 'cores',
          goal: { text: `${goals.cores} cores`, met: walks <= goals.cores },
        },
        { what: 'CPU of the stats thread’s part', value: thread, unit: 'cores' },
        {
          what: 'age of a measurement, p99',
          value: ageMs / 1000,
          unit: 's',
          goal: { text: `${goals.ageMs / 1000} s`, met: ageMs <= goals.ageMs },
        },
      ],
    };
  },
};

function createNode(folder: string) {
  const rootDir = join(folder, 'kubelet');
  const mountTable = join(folder, 'mountinfo');
  const snapshot = createRuntimeSnapshot(pods + 1);
  const runtime = new RuntimeSnapshotWriter(snapshot);
  const mounts: string[] = [];
  for (let pod = 0; pod <= pods; pod += 1) {
    const podUID = uidOf(pod);
    const id = `c${pod}` as ContainerID;
    const layer = join(folder, 'layers', id);
    fill(join(rootDir, 'pods', podUID, 'volumes/kubernetes.io~empty-dir/data'), pod === pods ? manyFiles : filesPerTree);
    fill(layer, filesPerTree);
    mounts.push(`9 1 0:7 / /run/task/${id}/rootfs rw - overlay overlay rw,lowerdir=/l,upperdir=${layer},workdir=/w`);
    const common = { state: 'running', attempt: 0, createdAtMs: 1, sandboxID: `s${pod}` as SandboxID, image: '' } as const;
    const ofPod = { podUID, podName: `web-${pod}`, podNamespace: 'default' };
    runtime.add({ ...common, ...ofPod, kind: 'container', id, containerName: 'app' });
  }
  writeFileSync(mountTable, mounts.join('\n'));
  return { rootDir, mountTable, snapshot, largeUID: uidOf(pods) };
}

function fill(path: string, files: number): void {
  const perFolder = 1000;
  mkdirSync(path, { recursive: true });
  for (let index = 0; index < files; index += 1) {
    const inner = join(path, String(Math.floor(index / perFolder)));
    if (index % perFolder === 0) mkdirSync(inner);
    writeFileSync(join(inner, `file-${index}`), '');
  }
}

function uidOf(pod: number): PodUID {
  return `3f2e1d0c-0000-4000-8000-${String(pod).padStart(12, '0')}` as PodUID;
}

function threadCpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

function helperPid(): number {
  const found = readdirSync('/proc').find(
    (name) => /^\d+$/.test(name) && readFileSync(`/proc/${name}/status`, 'utf8').includes(`PPid:\t${process.pid}\n`),
  );
  if (found === undefined) throw new Error('there is no helper process');
  return Number(found);
}

/** User and system time in ticks of 10 ms: fields 14 and 15 of /proc/<pid>/stat. */
function processCpuMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}
