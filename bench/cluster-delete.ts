/** Measures the deletion of a pod that ends at SIGTERM: from the delete request until a watch sees the pod gone. */
import { setTimeout as sleep } from 'node:timers/promises';
import { monotonicMs } from '../src/shared/time/clock.ts';
import { RuntimeCalls, stopCalls } from './driver/runtime-calls.ts';
import type { Benchmark } from './harness/benchmark.ts';
import { BenchCluster } from './harness/cluster.ts';
import { ensureGoKubelet } from './harness/go-kubelet.ts';
import type { KubeletProgram } from '../lab/kubelet/kubelet-program.ts';
import { startLoopDelayReading, loopDelayMeasurements, type LoopDelays } from './harness/loop-delay.ts';
import { percentile, unionLengthMs } from './harness/statistics.ts';

const repeats = 30;
const warmUps = 3;
const goalMs = 250;
const timeoutMs = 60_000;
/** Wait between a pod's start and its deletion, and after the deletion. */
const settleMs = 500;

export const benchmark: Benchmark = {
  name: 'cluster-delete',
  about:
    'One pod of a real API server at a time, whose container exits immediately at SIGTERM: the delete request → a watch sees it gone. The floor is StopContainer and StopPodSandbox from a bare driver.',
  needs: 'root',
  async run(context) {
    const cluster = await BenchCluster.start(context);
    const { driver } = cluster;
    const floors: number[] = [];
    for (let round = 0; round < repeats; round += 1) floors.push(await driver.stopPod(await driver.startPod(`floor-${round}`)));
    await driver.removeAll();

    const runtimeCalls = new RuntimeCalls(cluster.containerd.logFile);
    context.onEnd(async () => runtimeCalls.close());
    const peer = await deletionsOf(cluster, runtimeCalls, 'peer', await ensureGoKubelet(context.progress));
    const own = await deletionsOf(cluster, runtimeCalls, 'gone');
    const floor = (percent: number) => ({ what: 'the two calls, bare', value: percentile(floors, percent) });
    const of = (what: 'totals' | 'overheads', percent: number) => ({
      value: percentile(own[what], percent),
      peer: percentile(peer[what], percent),
      unit: 'ms',
    });
    const p50 = of('totals', 50);
    return {
      repeats: `${repeats} pods, one after the other, after ${warmUps} warm-up pods; the same number with the Go kubelet before`,
      measurements: [
        { what: 'delete → gone, p50', ...p50, floor: floor(50), goal: { text: `${goalMs} ms`, met: p50.value <= goalMs } },
        { what: 'delete → gone, p99', ...of('totals', 99), floor: floor(99) },
        { what: 'own overhead, p50', ...of('overheads', 50) },
        { what: 'own overhead, p99', ...of('overheads', 99) },
        ...loopDelayMeasurements(own.delays),
      ],
    };
  },
};

interface Deletions {
  /** From the delete request until a watch saw the pod gone, ms. */
  readonly totals: readonly number[];
  /** The total without the time of the two runtime calls. */
  readonly overheads: readonly number[];
  readonly delays: LoopDelays;
}

async function deletionsOf(
  cluster: BenchCluster,
  runtimeCalls: RuntimeCalls,
  prefix: string,
  program?: KubeletProgram,
): Promise<Deletions> {
  const { driver, pods } = cluster;
  const kubelet = await cluster.join({ program });
  try {
    const readDelays = await startLoopDelayReading(kubelet, program);
    const totals: number[] = [];
    const overheads: number[] = [];
    for (let round = -warmUps; round < repeats; round += 1) {
      const name = `${prefix}-${round + warmUps}`;
      await cluster.createPod(name);
      await pods.waitUntil('ready', [name], timeoutMs);
      await sleep(settleMs);
      runtimeCalls.take();
      const began = monotonicMs();
      await cluster.deletePod(name);
      const [gone = NaN] = await pods.waitUntil('gone', [name], timeoutMs);
      const calls = runtimeCalls.take().filter(({ call, endMs }) => stopCalls.has(call) && endMs <= gone);
      await sleep(settleMs);
      if (round < 0) continue;
      totals.push(gone - began);
      overheads.push(gone - began - unionLengthMs(calls));
    }
    return { totals, overheads, delays: await readDelays() };
  } catch (err) {
    throw kubelet.withLog(err);
  } finally {
    await kubelet.stop(() => driver.removeAll());
  }
}
