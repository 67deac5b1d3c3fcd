/** Measures the memory of this kubelet and of the Go kubelet on containerd: without pods, with 100 and 250 pods, and at the peak of their start. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { CriDriver } from './driver/cri-driver.ts';
import type { Benchmark, BenchContext, Measurement } from './harness/benchmark.ts';
import { startContainerd } from './harness/containerd.ts';
import { ensureGoKubelet, standalone } from './harness/go-kubelet.ts';
import { startIdlePods, whileScraped } from './harness/idle-pods.ts';
import { installKubelet } from './harness/installed-kubelet.ts';
import type { KubeletProgram } from '../lab/kubelet/kubelet-program.ts';
import { KubeletProcess } from '../lab/kubelet/kubelet-process.ts';
import { readProcessMemory, resetPeak, type ProcessMemory } from './harness/process-memory.ts';
import { readProcessUsage } from './harness/process-usage.ts';

const steps = [0, 100, 250] as const;
const maxPods = steps.at(-1)!;
/** Waits for the work that follows the starts, and for one collection of each heap. */
const settleMs = 80_000;
const windowMs = 10_000;
const windows = 6;
const goals = { pss: 1.15, rss: 1.2, peak: 1.5, emptyMB: 155, cpu: 0.35 } as const;

interface Step {
  /** The means of the windows. */
  readonly memory: ProcessMemory;
  readonly maxRssMB: number;
  readonly cores: number;
}

interface Footprint {
  readonly steps: ReadonlyMap<number, Step>;
  /** Of the start of the last step's pods. */
  readonly peakMB: number;
}

export const benchmark: Benchmark = {
  name: 'footprint',
  about: `The memory of the kubelet's processes on containerd, with pods of one container, while /metrics/resource is read each 15 s and the other pages of metrics each 30 s. The kubelet is a copy with a Node of its own. Both kubelets run the same pods, one after the other.`,
  needs: 'root',
  async run(context) {
    const go = standalone(await ensureGoKubelet(context.progress));
    const { containerd, driver } = await startContainerd(context);
    const own = await measure(context, driver, containerd.endpoint, 'the kubelet', installKubelet(context));
    const peer = await measure(context, driver, containerd.endpoint, 'the Go kubelet', go);
    return {
      repeats: `means of ${windows} windows of ${windowMs / 1000} s, ${settleMs / 1000} s after the last start`,
      measurements: [...steps.flatMap((pods) => rowsOf(pods, own, peer)), peakRow(own, peer)],
    };
  },
};

function rowsOf(pods: number, own: Footprint, peer: Footprint): Measurement[] {
  const [mine, theirs] = [own.steps.get(pods)!, peer.steps.get(pods)!];
  const isFull = pods === maxPods;
  const within = (value: number, other: number, factor: number) => ({
    text: `${factor} times the Go kubelet's`,
    met: value <= other * factor,
  });
  const megabytes = (what: string, of: (step: Step) => number, goal?: Measurement['goal']): Measurement => ({
    what: `${what}, ${pods} pods`,
    value: of(mine),
    peer: of(theirs),
    unit: 'MB',
    ...(goal && { goal }),
  });
  return [
    megabytes('resident', ({ memory }) => memory.rssMB, {
      ...(pods === 0
        ? { text: `${goals.emptyMB} MB`, met: mine.memory.rssMB <= goals.emptyMB }
        : within(mine.memory.rssMB, theirs.memory.rssMB, goals.rss)),
    }),
    megabytes('resident, the largest', ({ maxRssMB }) => maxRssMB),
    megabytes(
      'shared pages in parts',
      ({ memory }) => memory.pssMB,
      isFull ? within(mine.memory.pssMB, theirs.memory.pssMB, goals.pss) : undefined,
    ),
    megabytes('of that, files', ({ memory }) => memory.filesMB),
    {
      what: `CPU, ${pods} pods`,
      value: mine.cores,
      peer: theirs.cores,
      unit: 'cores',
      ...(isFull && { goal: within(mine.cores, theirs.cores, goals.cpu) }),
    },
  ];
}

function peakRow(own: Footprint, peer: Footprint): Measurement {
  return {
    what: `resident, the peak while ${maxPods - steps.at(-2)!} pods start`,
    value: own.peakMB,
    peer: peer.peakMB,
    unit: 'MB',
    goal: { text: `${goals.peak} times the Go kubelet's`, met: own.peakMB <= peer.peakMB * goals.peak },
  };
}

async function measure(
  context: BenchContext,
  driver: CriDriver,
  runtimeEndpoint: string,
  name: string,
  program: KubeletProgram,
): Promise<Footprint> {
  const kubelet = await KubeletProcess.start({ runtimeEndpoint, maxPods: maxPods + 10, program });
  const measured = new Map<number, Step>();
  let peakMB = 0;
  try {
    for (const [index, pods] of steps.entries()) {
      context.progress(`${name}: ${pods} pods …`);
      resetPeak(kubelet.pid);
      await startIdlePods(kubelet, driver, steps[index - 1] ?? 0, pods);
      peakMB = readProcessMemory(kubelet.pid).peakMB;
      const step = await whileScraped(kubelet, () => sleep(settleMs).then(() => readWindows(kubelet.pid)));
      measured.set(pods, step);
      context.progress(
        `${name}: ${pods} pods: ${Math.round(step.memory.rssMB)} MB, ${step.cores.toFixed(3)} cores, peak ${Math.round(peakMB)} MB`,
      );
    }
    return { steps: measured, peakMB };
  } finally {
    context.progress(`${name}: removing the pods …`);
    await kubelet.stop(() => driver.removeAll());
  }
}

async function readWindows(pid: number): Promise<Step> {
  const memories: ProcessMemory[] = [];
  const began = performance.now();
  const before = readProcessUsage(pid);
  for (let window = 0; window < windows; window += 1) {
    await sleep(windowMs);
    memories.push(readProcessMemory(pid));
  }
  const cores = (readProcessUsage(pid).cpuSeconds - before.cpuSeconds) / ((performance.now() - began) / 1000);
  const mean = (of: (memory: ProcessMemory) => number) => memories.reduce((sum, memory) => sum + of(memory), 0) / memories.length;
  return {
    memory: {
      rssMB: mean(({ rssMB }) => rssMB),
      pssMB: mean(({ pssMB }) => pssMB),
      filesMB: mean(({ filesMB }) => filesMB),
      peakMB: mean((memory) => memory.peakMB),
    },
    maxRssMB: Math.max(...memories.map(({ rssMB }) => rssMB)),
    cores,
  };
}
