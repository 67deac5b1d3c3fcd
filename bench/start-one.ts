/**
 * One pod on an idle node: from its manifest to the kubelet saying that its container runs, minus the calls that start it. The calls
 * are timed by a proxy between kubelet and containerd; what the kubelet asks besides (statuses, lists) counts as its own time.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monotonicMs } from '../src/shared/time/clock.ts';
import { CriDriver } from './driver/cri-driver.ts';
import { RecordingProxy } from './driver/recording-proxy.ts';
import type { Benchmark, Measurement } from './harness/benchmark.ts';
import { benchCommand, benchImage, benchPodSpec, startContainerd } from './harness/containerd.ts';
import { ensureKubelet, KubeletProcess } from './harness/kubelet-process.ts';
import { phaseChangedAtMs } from './harness/kubelet-log.ts';
import { percentile, unionLength } from './harness/statistics.ts';

const repeats = 30;
/** The first pods find code that is not compiled yet; the very first is told for itself. */
const warmUps = 5;
const goalMs = 40;
const startCalls = new Set(['RunPodSandbox', 'CreateContainer', 'StartContainer']);

export const benchmark: Benchmark = {
  name: 'start-one',
  about:
    'One pod at a time on containerd: manifest written → the kubelet shows its container running. Overhead is that minus RunPodSandbox, CreateContainer and StartContainer.',
  needs: 'root',
  async run(context) {
    ensureKubelet();
    const containerd = await startContainerd(context);
    const driver = new CriDriver(containerd.endpoint, benchImage, benchCommand);
    context.after(async () => driver.close());
    const floors: number[] = [];
    for (let round = 0; round < repeats; round += 1) {
      const { startMs, endMs } = await driver.startPod(`floor-${round}`);
      floors.push(endMs - startMs);
    }
    await driver.removeAll();

    const folder = mkdtempSync(join(tmpdir(), 'kp-'));
    const proxy = await RecordingProxy.start(join(folder, 'p.sock'), containerd.endpoint);
    context.after(async () => {
      proxy.close();
      rmSync(folder, { recursive: true });
    });
    const kubelet = await KubeletProcess.start({ runtimeEndpoint: proxy.endpoint });
    context.after(() => kubelet.stop(() => driver.removeAll()));
    const totals: number[] = [];
    const overheads: number[] = [];
    const parts = { before: [] as number[], between: [] as number[], after: [] as number[] };
    let coldMs = 0;
    for (let round = -warmUps; round < repeats; round += 1) {
      proxy.takeCalls();
      const began = monotonicMs();
      const name = `one-${round + warmUps}`;
      kubelet.writePod(name, benchPodSpec);
      const known = await untilRunning(kubelet, `${name}-bench`);
      const calls = proxy.takeCalls().filter(({ call }) => startCalls.has(call));
      if (calls.length !== startCalls.size)
        throw new Error(`one pod took ${calls.length} starting calls: ${calls.map(({ call }) => call).join(', ')}`);
      kubelet.removePod(name);
      await untilGone(kubelet, `${name}-bench`);
      if (round === -warmUps) coldMs = known - began - unionLength(calls);
      if (round < 0) continue;
      totals.push(known - began);
      overheads.push(known - began - unionLength(calls));
      const [first, last] = [Math.min(...calls.map(({ startMs }) => startMs)), Math.max(...calls.map(({ endMs }) => endMs))];
      parts.before.push(first - began);
      parts.between.push(last - first - unionLength(calls));
      parts.after.push(known - last);
    }
    const p99 = percentile(overheads, 99);
    return {
      repeats: `${repeats} pods, one after the other, after ${warmUps} that do not count`,
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
        ...part('manifest → first call', parts.before),
        ...part('between the calls', parts.between),
        ...part('last call → known to run', parts.after),
      ],
    };
  },
};

function part(what: string, samples: readonly number[]): Measurement[] {
  return [50, 99].map((percent) => ({ what: `of it ${what}, p${percent}`, value: percentile(samples, percent), unit: 'ms' }));
}

const patienceMs = 30_000;

/** Monotonic ms at which the kubelet knew it, by its own log: to the millisecond. */
async function untilRunning(kubelet: KubeletProcess, name: string): Promise<number> {
  const end = monotonicMs() + patienceMs;
  while (monotonicMs() < end) {
    const knownAtMs = phaseChangedAtMs(kubelet.log(), `bench/${name}`, 'Running');
    if (knownAtMs !== undefined) return knownAtMs - Date.now() + monotonicMs();
    await sleep(50);
  }
  throw new Error(`${name} did not run within ${patienceMs} ms; the kubelet's log ends:\n${kubelet.logTail()}`);
}

async function untilGone(kubelet: KubeletProcess, name: string): Promise<void> {
  const end = monotonicMs() + patienceMs;
  while (monotonicMs() < end) {
    if (!(await kubelet.pods()).some(({ metadata }) => metadata.name === name)) return;
    await sleep(20);
  }
  throw new Error(`${name} was not gone within ${patienceMs} ms; the kubelet's log ends:\n${kubelet.logTail()}`);
}
