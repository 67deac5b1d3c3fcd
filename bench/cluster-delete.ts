/** A pod that ends as soon as it is told to: from the request that deletes it until a watch sees it gone. */
import { setTimeout as sleep } from 'node:timers/promises';
import { monotonicMs } from '../src/shared/time/clock.ts';
import { RuntimeCalls, stopCalls } from './driver/runtime-calls.ts';
import type { Benchmark } from './harness/benchmark.ts';
import { BenchCluster } from './harness/cluster.ts';
import { delaysBetween, loopDelayMeasurements, readLoopDelays } from './harness/loop-delay.ts';
import { percentile, unionLength } from './harness/statistics.ts';

const repeats = 30;
const warmUps = 3;
const goalMs = 250;
const timeoutMs = 60_000;
/** Between a pod's start and its end, and after it. */
const settleMs = 500;

export const benchmark: Benchmark = {
  name: 'cluster-delete',
  about:
    'One pod of a real API server at a time, whose container ends at SIGTERM at once: the request that deletes it → a watch sees it gone. The floor is StopContainer and StopPodSandbox from a bare driver.',
  needs: 'root',
  async run(context) {
    const cluster = await BenchCluster.start(context);
    const { driver, pods } = cluster;
    const floors: number[] = [];
    for (let round = 0; round < repeats; round += 1) floors.push(await driver.stopPod(await driver.startPod(`floor-${round}`)));
    await driver.removeAll();

    const runtimeCalls = new RuntimeCalls(cluster.containerd.logFile);
    context.after(async () => runtimeCalls.close());
    const kubelet = await cluster.join(cluster.containerd.endpoint);
    context.after(() => kubelet.stop(() => driver.removeAll()));
    const delaysBefore = await readLoopDelays(kubelet);
    const totals: number[] = [];
    const overheads: number[] = [];
    for (let round = -warmUps; round < repeats; round += 1) {
      const name = `gone-${round + warmUps}`;
      await cluster.createPod(name);
      await pods.until('ready', [name], timeoutMs);
      await sleep(settleMs);
      runtimeCalls.take();
      const began = monotonicMs();
      await cluster.deletePod(name);
      const [gone = NaN] = await pods.until('gone', [name], timeoutMs).catch((err: unknown) => {
        throw kubelet.withLog(err);
      });
      const calls = runtimeCalls.take().filter(({ call, endMs }) => stopCalls.has(call) && endMs <= gone);
      await sleep(settleMs);
      if (round < 0) continue;
      totals.push(gone - began);
      overheads.push(gone - began - unionLength(calls));
    }
    const delays = delaysBetween(delaysBefore, await readLoopDelays(kubelet));
    const p50 = percentile(totals, 50);
    const floor = (percent: number) => ({ what: 'the two calls, bare', value: percentile(floors, percent) });
    return {
      repeats: `${repeats} pods, one after the other, after ${warmUps} that do not count`,
      measurements: [
        { what: 'delete → gone, p50', value: p50, unit: 'ms', floor: floor(50), goal: { text: `${goalMs} ms`, met: p50 <= goalMs } },
        { what: 'delete → gone, p99', value: percentile(totals, 99), unit: 'ms', floor: floor(99) },
        { what: 'own overhead, p50', value: percentile(overheads, 50), unit: 'ms' },
        { what: 'own overhead, p99', value: percentile(overheads, 99), unit: 'ms' },
        ...loopDelayMeasurements(delays),
      ],
    };
  },
};
