/** Measures how RunPodSandbox calls that never return delay the start of other pods. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Benchmark } from './harness/benchmark.ts';
import { KubeletProcess } from '../lab/kubelet/kubelet-process.ts';
import { percentile } from './harness/statistics.ts';
import { startRuntimeProcess, type ControlClient } from '../lab/simulated-runtime/client.ts';

const hungPods = 50;
const repeats = 100;
/** The first pods run code that V8 has not compiled yet. */
const warmUps = 5;
const goalMs = 1000;
const image = 'registry.example/sim/run:1';
const podSpec = { terminationGracePeriodSeconds: 0, containers: [{ name: 'app', image, imagePullPolicy: 'Never' }] };
const timeoutMs = 120_000;

export const benchmark: Benchmark = {
  name: 'hung-starts',
  about: `One pod at a time on the simulated runtime, with containerd's latencies, while it never answers RunPodSandbox for ${hungPods} other pods: manifest written → container started. The floor is the same node before these pods.`,
  needs: 'none',
  async run({ progress, onEnd }) {
    const runtime = await startRuntimeProcess({ images: [{ name: image }], preset: 'containerd' });
    onEnd(() => runtime.stop());
    const { control } = runtime;
    const kubelet = await KubeletProcess.start({ runtimeEndpoint: runtime.endpoint });
    onEnd(() => kubelet.stop());
    const startPods = async (prefix: string, count: number) => {
      const tookMs: number[] = [];
      for (let pod = 0; pod < count; pod += 1) tookMs.push(await startPod(kubelet, control, `${prefix}-${pod}`));
      return tookMs;
    };

    await startPods('warm-up', warmUps);
    progress(`${repeats} pods without hung starts …`);
    const before = await startPods('before', repeats);
    progress(`${hungPods} pods whose sandboxes are never created …`);
    const hung = Array.from({ length: hungPods }, (_, pod) => `hung-${pod}`);
    for (const name of hung) await control.fault({ call: 'RunPodSandbox', id: `${name}-bench`, kind: 'hang' });
    for (const name of hung) kubelet.writePod(name, podSpec);
    const behindMs = await startPod(kubelet, control, 'later');
    await waitUntil('all of them hang', async () => (await control.counters())['RunPodSandbox']?.inFlight === hungPods, kubelet);
    progress(`${repeats} pods during the hung starts …`);
    const during = await startPods('during', repeats);
    const inFlight = (await control.counters())['RunPodSandbox']?.inFlight;
    if (inFlight !== hungPods) throw new Error(`${inFlight} of ${hungPods} hang at the end`);

    const both = (percent: number) => ({
      value: percentile(during, percent),
      floor: { what: 'none hangs', value: percentile(before, percent) },
    });
    const p99 = both(99);
    return {
      repeats: `${repeats} pods before, ${repeats} while ${hungPods} hang`,
      measurements: [
        { what: `manifest → started p50, ${hungPods} sandboxes hung`, unit: 'ms', ...both(50) },
        {
          what: `manifest → started p99, ${hungPods} sandboxes hung`,
          unit: 'ms',
          ...p99,
          goal: { text: `floor + ${goalMs} ms`, met: p99.value <= p99.floor.value + goalMs },
        },
        { what: `manifest → started of a pod that is written directly after the ${hungPods}`, value: behindMs, unit: 'ms' },
      ],
    };
  },
};

/** Starts a pod and removes it. Returns the ms from its manifest to its container's start. */
async function startPod(kubelet: KubeletProcess, control: ControlClient, name: string): Promise<number> {
  const writtenAtMs = Date.now();
  kubelet.writePod(name, podSpec);
  let startedAtMs = 0;
  const hasStarted = async () => {
    const { containers } = await control.state();
    startedAtMs = containers.find(({ podName }) => podName === `${name}-bench`)?.startedAtMs ?? 0;
    return startedAtMs > 0;
  };
  await waitUntil(`${name} has started`, hasStarted, kubelet);
  kubelet.removePod(name);
  await waitUntil(
    `${name} is gone`,
    async () => !(await kubelet.pods()).some(({ metadata }) => metadata.name === `${name}-bench`),
    kubelet,
  );
  return startedAtMs - writtenAtMs;
}

async function waitUntil(what: string, check: () => Promise<boolean>, kubelet: KubeletProcess): Promise<void> {
  const end = performance.now() + timeoutMs;
  while (!(await check())) {
    if (performance.now() > end) throw kubelet.withLog(new Error(`not within ${timeoutMs} ms: ${what}`));
    await sleep(20);
  }
}
