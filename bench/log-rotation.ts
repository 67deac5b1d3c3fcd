/**
 * Measures how large logs become when a container writes 100 MB/s, with the default limits, and what another container's log gets meanwhile. The
 * simulated runtime writes real files. The Go kubelet rotates the same logs.
 */
import { readdirSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Benchmark, BenchContext } from './harness/benchmark.ts';
import { ensureGoKubelet, standalone } from './harness/go-kubelet.ts';
import type { KubeletProgram } from '../lab/kubelet/kubelet-program.ts';
import { KubeletProcess } from '../lab/kubelet/kubelet-process.ts';
import { readProcessUsage } from './harness/process-usage.ts';
import { startRuntimeProcess } from '../lab/simulated-runtime/client.ts';

const image = 'registry.example/sim/run:1';
const megabyte = 1_000_000;
/** Defaults of KubeletConfiguration. */
const maxSize = 10 * 1024 * 1024;
const maxFiles = 5;
const everyMs = 100;
const lineBytes = 100_000;
const floodBytesPerSecond = 100 * megabyte;
const calmBytesPerSecond = 2 * megabyte;
const measuredMs = 45_000;
const sampleMs = 100;
const startTimeoutMs = 60_000;
/** A fast log is checked once a second, and a flood is noticed within two. */
const goalBytes = 250 * megabyte;

export const benchmark: Benchmark = {
  name: 'log-rotation',
  about: `One container writes ${floodBytesPerSecond / megabyte} MB/s and another ${calmBytesPerSecond / megabyte} MB/s for ${measuredMs / 1000} s; the default limits (10Mi, ${maxFiles} files). The simulated runtime writes the files. The floor of a file is containerLogMaxSize, that of a folder ${maxFiles} such files.`,
  needs: 'root',
  async run(context) {
    const peer = standalone(await ensureGoKubelet(context.progress));
    const own = await measure(context);
    const go = await measure(context, peer);
    const inMegabytes = (value: keyof Sizes) => ({ value: own[value] / megabyte, peer: go[value] / megabyte, unit: 'MB' });
    const file = { floor: { what: 'limit', value: maxSize / megabyte } };
    const folder = { floor: { what: 'limit', value: (maxFiles * maxSize) / megabyte } };
    return {
      repeats: `${measuredMs / 1000} s, sampled each ${sampleMs} ms`,
      measurements: [
        {
          what: 'largest file of the flood',
          ...inMegabytes('floodFile'),
          ...file,
          goal: { text: `${goalBytes / megabyte} MB`, met: own.floodFile <= goalBytes },
        },
        { what: 'log folder of the flood, at most', ...inMegabytes('floodFolder'), ...folder },
        { what: 'largest file of the other container', ...inMegabytes('calmFile'), ...file },
        { what: 'archives of the other container, at the end', value: own.calmArchives, peer: go.calmArchives, unit: 'files' },
        { what: 'written by the flood, per second', ...inMegabytes('floodRate') },
        { what: 'CPU of the kubelet', value: own.cores * 100, peer: go.cores * 100, unit: '% of a core' },
      ],
    };
  },
};

interface Sizes {
  floodFile: number;
  floodFolder: number;
  floodRate: number;
  calmFile: number;
  calmArchives: number;
  cores: number;
}

async function measure({ progress, onEnd }: BenchContext, program?: KubeletProgram): Promise<Sizes> {
  const runtime = await startRuntimeProcess({ images: [{ name: image }] });
  onEnd(() => runtime.stop());
  const kubelet = await KubeletProcess.start({ runtimeEndpoint: runtime.endpoint, ...(program && { program }) });
  onEnd(() => kubelet.stop());
  progress(`${program ? 'Go kubelet' : 'kubelet'}: ${measuredMs / 1000} s …`);
  kubelet.writePod('calm', writerOf(calmBytesPerSecond));
  kubelet.writePod('flood', writerOf(floodBytesPerSecond));
  const calm = await untilLogged(kubelet, 'calm');
  const flood = await untilLogged(kubelet, 'flood');
  const sizes: Sizes = { floodFile: 0, floodFolder: 0, floodRate: 0, calmFile: 0, calmArchives: 0, cores: 0 };
  const began = performance.now();
  const { cpuSeconds } = readProcessUsage(kubelet.pid);
  while (performance.now() < began + measuredMs) {
    const floodSizes = fileSizes(flood);
    sizes.floodFile = Math.max(sizes.floodFile, ...floodSizes);
    sizes.floodFolder = Math.max(
      sizes.floodFolder,
      floodSizes.reduce((sum, size) => sum + size, 0),
    );
    sizes.calmFile = Math.max(sizes.calmFile, ...fileSizes(calm));
    await sleep(sampleMs);
  }
  const seconds = (performance.now() - began) / 1000;
  sizes.cores = (readProcessUsage(kubelet.pid).cpuSeconds - cpuSeconds) / seconds;
  sizes.calmArchives = readdirSync(calm).filter((name) => name.endsWith('.gz')).length;
  sizes.floodRate = ((await lastNumber(join(flood, '0.log'))) * lineBytes) / seconds;
  await kubelet.stop();
  await runtime.stop();
  return sizes;
}

function writerOf(bytesPerSecond: number): object {
  const batch = Math.round((bytesPerSecond * everyMs) / 1000 / lineBytes);
  const env = { SIM_LOG_LINES: '0', SIM_LOG_EVERY: `${everyMs}ms`, SIM_LOG_BATCH: String(batch), SIM_LOG_TEXT: 'x'.repeat(lineBytes) };
  return {
    terminationGracePeriodSeconds: 1,
    containers: [{ name: 'app', image, imagePullPolicy: 'Never', env: Object.entries(env).map(([name, value]) => ({ name, value })) }],
  };
}

/** Resolves to the folder of the pod's log. */
async function untilLogged(kubelet: KubeletProcess, pod: string): Promise<string> {
  const end = performance.now() + startTimeoutMs;
  for (;;) {
    const folder = readdirSync(kubelet.podLogs).find((name) => name.startsWith(`bench_${pod}-`));
    const path = join(kubelet.podLogs, String(folder), 'app');
    if (folder !== undefined && fileSizes(path).some((size) => size > 0)) return path;
    if (performance.now() > end) throw kubelet.withLog(new Error(`pod ${pod} has written nothing after ${startTimeoutMs} ms`));
    await sleep(sampleMs);
  }
}

/** Without files that are renamed or removed meanwhile. */
function fileSizes(folder: string): number[] {
  try {
    return readdirSync(folder).map((name) => statSync(join(folder, name), { throwIfNoEntry: false })?.size ?? 0);
  } catch {
    return [];
  }
}

/** The runtime numbers the lines of a container: the last one is at the end of its log. */
async function lastNumber(path: string): Promise<number> {
  const file = await open(path);
  try {
    const { size } = await file.stat();
    const { buffer, bytesRead } = await file.read(Buffer.alloc(2 * lineBytes), 0, 2 * lineBytes, Math.max(0, size - 2 * lineBytes));
    const numbers = [...buffer.toString('latin1', 0, bytesRead).matchAll(/x (\d+)\n/g)];
    return Number(numbers.at(-1)?.[1] ?? NaN);
  } finally {
    await file.close();
  }
}
