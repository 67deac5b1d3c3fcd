/**
 * Measures the start of one pod on an idle node: from when the kubelet sees the pod until it knows that the container runs, minus the three
 * runtime calls, measured by containerd's log. Also measures how long the kubelet takes to see the manifest. The kubelet's times are from
 * its log, with millisecond precision.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { monotonicMs } from '../src/shared/time/clock.ts';
import { RuntimeCalls, startCalls } from './driver/runtime-calls.ts';
import type { Benchmark, Measurement } from './harness/benchmark.ts';
import { benchPodSpec, startContainerd } from './harness/containerd.ts';
import { KubeletProcess } from '../lab/kubelet/kubelet-process.ts';
import { phaseChangedAtMs, podSeenAtMs } from './harness/kubelet-log.ts';
import { percentile, unionLengthMs } from './harness/statistics.ts';

const repeats = 30;
/** The first pods run code that V8 has not compiled yet. The very first one is reported separately. */
const warmUps = 5;
const goalMs = 40;
/** Waits for the cleanup of the previous pod: removing its sandbox and folders. */
const settleMs = 1500;

export const benchmark: Benchmark = {
  name: 'start-one',
  about:
    'One pod at a time on containerd. Own overhead: pod seen → container known to run, minus RunPodSandbox, CreateContainer and StartContainer.',
  needs: 'root',
  async run(context) {
    const { containerd, driver } = await startContainerd(context);
    const floors: number[] = [];
    for (let round = 0; round < repeats; round += 1) {
      const { startMs, endMs } = await driver.startPod(`floor-${round}`);
      floors.push(endMs - startMs);
    }
    await driver.removeAll();

    const runtimeCalls = new RuntimeCalls(containerd.logFile);
    context.onEnd(async () => runtimeCalls.close());
    const kubelet = await KubeletProcess.start({ runtimeEndpoint: containerd.endpoint });
    context.onEnd(() => kubelet.stop(() => driver.removeAll()));
    const totals: number[] = [];
    const seen: number[] = [];
    const overheads: number[] = [];
    const parts = { before: [] as number[], after: [] as number[] };
    let coldMs = 0;
    for (let round = -warmUps; round < repeats; round += 1) {
      const name = `one-${round + warmUps}`;
      runtimeCalls.take();
      const beganMs = monotonicMs();
      kubelet.writePod(name, benchPodSpec);
      const { seenMs, knownMs } = await waitUntilRunning(kubelet, `${name}-bench`);
      const starts = runtimeCalls.take().filter(({ call }) => startCalls.has(call));
      if (starts.length !== startCalls.size)
        throw new Error(`one pod took ${starts.length} starting calls: ${starts.map(({ call }) => call).join(', ')}`);
      kubelet.removePod(name);
      await waitUntilGone(kubelet, `${name}-bench`);
      await sleep(settleMs);
      const overheadMs = knownMs - seenMs - unionLengthMs(starts);
      if (round === -warmUps) coldMs = overheadMs;
      if (round < 0) continue;
      totals.push(knownMs - beganMs);
      seen.push(seenMs - beganMs);
      overheads.push(overheadMs);
      parts.before.push(Math.min(...starts.map(({ startMs }) => startMs)) - seenMs);
      parts.after.push(knownMs - Math.max(...starts.map(({ endMs }) => endMs)));
    }
    const p99 = percentile(overheads, 99);
    return {
      repeats: `${repeats} pods, one after the other, after ${warmUps} warm-up pods`,
      measurements: [
        {
          what: 'manifest → running, p50',
          value: percentile(totals, 50),
          unit: 'ms',
          floor: { what: 'the three calls, bare', value: percentile(floors, 50) },
        },
        {
          what: 'manifest → running, p99',
          value: percentile(totals, 99),
          unit: 'ms',
          floor: { what: 'the three calls, bare', value: percentile(floors, 99) },
        },
        { what: 'own overhead, p50', value: percentile(overheads, 50), unit: 'ms' },
        { what: 'own overhead, p99', value: p99, unit: 'ms', goal: { text: `${goalMs} ms`, met: p99 <= goalMs } },
        { what: 'own overhead of the very first pod', value: coldMs, unit: 'ms' },
        ...part('seen → first call', parts.before),
        ...part('started → known to run, including status calls,', parts.after),
        ...part('manifest written → seen', seen),
      ],
    };
  },
};

function part(what: string, samples: readonly number[]): Measurement[] {
  return [50, 99].map((percent) => ({ what: `${what} p${percent}`, value: percentile(samples, percent), unit: 'ms' }));
}

const timeoutMs = 30_000;

/** Returns the monotonic ms at which the kubelet saw the pod and at which it knew that the pod runs. */
async function waitUntilRunning(kubelet: KubeletProcess, name: string): Promise<{ readonly seenMs: number; readonly knownMs: number }> {
  const end = monotonicMs() + timeoutMs;
  while (monotonicMs() < end) {
    const log = kubelet.log();
    const knownAtMs = phaseChangedAtMs(log, `bench/${name}`, 'Running');
    const seenAt = podSeenAtMs(log, `bench/${name}`);
    const offsetMs = monotonicMs() - Date.now();
    if (knownAtMs !== undefined && seenAt !== undefined) return { seenMs: seenAt + offsetMs, knownMs: knownAtMs + offsetMs };
    await sleep(50);
  }
  throw new Error(`${name} did not run within ${timeoutMs} ms; the kubelet's log ends:\n${kubelet.logTail()}`);
}

async function waitUntilGone(kubelet: KubeletProcess, name: string): Promise<void> {
  const end = monotonicMs() + timeoutMs;
  while (monotonicMs() < end) {
    if (!(await kubelet.pods()).some(({ metadata }) => metadata.name === name)) return;
    await sleep(20);
  }
  throw new Error(`${name} was not gone within ${timeoutMs} ms; the kubelet's log ends:\n${kubelet.logTail()}`);
}
