/** Measures a burst of a hundred pods on containerd. The kubelet must find the best parallelism itself; the bare driver gets it as a parameter. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { CriDriver } from './driver/cri-driver.ts';
import type { Benchmark, BenchContext } from './harness/benchmark.ts';
import { runBestBareBurst, readStartTimesSince } from './harness/bare-bursts.ts';
import { benchPodSpec, startContainerd } from './harness/containerd.ts';
import { KubeletProcess } from '../lab/kubelet/kubelet-process.ts';
import { percentile } from './harness/statistics.ts';

const pods = 100;
const parallelisms = [4, 8, 16];
const kubeletRounds = 3;
/** Goals: factor of the bare driver's best time, time of the first pod. */
const shareGoal = 1.1;
const firstGoalMs = 1000;
const timeoutMs = 180_000;

interface Burst {
  /** From the start of the burst until each container started, ms, ascending. */
  readonly running: readonly number[];
}

export const benchmark: Benchmark = {
  name: 'start-burst',
  about: `${pods} pods at once on containerd, measured by the containers' start times; the floor is the bare driver, which starts the same pods at its fastest parallelism.`,
  needs: 'root',
  async run(context) {
    const { containerd, driver } = await startContainerd(context);
    const best = await runBestBareBurst(context, driver, pods, parallelisms);
    const bursts: Burst[] = [];
    for (let round = 1; round <= kubeletRounds; round += 1) {
      context.progress(`kubelet, round ${round} …`);
      const burst = await kubeletBurst(context, driver, containerd.endpoint);
      context.progress(`kubelet, round ${round}: ${Math.round(burst.running.at(-1)!)} ms`);
      bursts.push(burst);
    }
    const last = percentile(
      bursts.map(({ running }) => running.at(-1)!),
      50,
    );
    const first = percentile(
      bursts.map(({ running }) => running[0]!),
      50,
    );
    const middle = percentile(
      bursts.map(({ running }) => percentile(running, 50)),
      50,
    );
    const floor = { what: `bare, ${best.parallelism} at a time`, value: best.lastMs / 1000 };
    return {
      repeats: `${kubeletRounds} bursts (the median is shown), one burst per parallelism of the driver (${parallelisms.join(', ')})`,
      measurements: [
        {
          what: `all ${pods} pods running`,
          value: last / 1000,
          unit: 's',
          floor,
          goal: { text: 'floor + 10 %', met: last <= best.lastMs * shareGoal },
        },
        { what: 'the median pod running', value: middle / 1000, unit: 's' },
        {
          what: 'the first pod running',
          value: first / 1000,
          unit: 's',
          floor: { what: floor.what, value: best.firstMs / 1000 },
          goal: { text: `${firstGoalMs / 1000} s`, met: first <= firstGoalMs },
        },
      ],
    };
  },
};

/** Each burst has a new kubelet process, which must adapt its parallelism to the runtime again. */
async function kubeletBurst(context: BenchContext, driver: CriDriver, runtimeEndpoint: string): Promise<Burst> {
  const kubelet = await KubeletProcess.start({ runtimeEndpoint, maxPods: pods + 10 });
  try {
    const began = Date.now();
    for (let index = 0; index < pods; index += 1) kubelet.writePod(`burst-${index}`, benchPodSpec);
    const end = began + timeoutMs;
    while ((await driver.runningContainers()) < pods) {
      if (Date.now() > end)
        throw new Error(`only ${await driver.runningContainers()} of ${pods} ran after ${timeoutMs} ms:\n${kubelet.logTail()}`);
      await sleep(100);
    }
    return { running: await readStartTimesSince(driver, began, pods) };
  } finally {
    context.progress('removing the pods …');
    await kubelet.stop(() => driver.removeAll());
  }
}
