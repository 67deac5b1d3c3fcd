/** Measures CPU and memory of this kubelet and of the Go kubelet with 250 pods that do nothing, on containerd, while their metrics are scraped. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { CriDriver } from './driver/cri-driver.ts';
import type { Benchmark, BenchContext } from './harness/benchmark.ts';
import { startContainerd } from './harness/containerd.ts';
import { ensureGoKubelet, standalone } from './harness/go-kubelet.ts';
import { startIdlePods, whileScraped } from './harness/idle-pods.ts';
import { readIdleUsage } from './harness/idle-usage.ts';
import type { KubeletProgram } from '../lab/kubelet/kubelet-program.ts';
import { KubeletProcess } from '../lab/kubelet/kubelet-process.ts';

const pods = 250;
/** Waits for the work that follows the starts: garbage collection, the first samples. */
const settleMs = 30_000;
const windowMs = 15_000;
const windows = 6;
const goals = { cpuShare: 0.5, rssShare: 1.2 };

export const benchmark: Benchmark = {
  name: 'idle-peer',
  about: `${pods} pods with one container run on containerd and nothing changes, while /metrics/resource is read each 15 s and the other pages of metrics each 30 s; the kubelet with all of its threads and child processes. Both kubelets run the same pods, one after the other.`,
  needs: 'root',
  async run(context) {
    const go = standalone(await ensureGoKubelet(context.progress));
    const { containerd, driver } = await startContainerd(context);
    const own = await measure(context, driver, containerd.endpoint);
    const peer = await measure(context, driver, containerd.endpoint, go);
    return {
      repeats: `${windows} windows of ${windowMs / 1000} s (the median), ${settleMs / 1000} s after the last start`,
      measurements: [
        {
          what: `CPU, ${pods} pods`,
          value: own.cores,
          unit: 'cores',
          peer: peer.cores,
          goal: { text: `half of the Go kubelet's`, met: own.cores <= peer.cores * goals.cpuShare },
        },
        {
          what: `resident memory, ${pods} pods`,
          value: own.rssMB,
          unit: 'MB',
          peer: peer.rssMB,
          goal: { text: `1.2 times the Go kubelet's`, met: own.rssMB <= peer.rssMB * goals.rssShare },
        },
      ],
    };
  },
};

async function measure(context: BenchContext, driver: CriDriver, runtimeEndpoint: string, program?: KubeletProgram) {
  const name = program ? 'the Go kubelet' : 'the kubelet';
  context.progress(`${name}: starting ${pods} pods …`);
  const kubelet = await KubeletProcess.start({ runtimeEndpoint, maxPods: pods + 10, ...(program && { program }) });
  try {
    await startIdlePods(kubelet, driver, 0, pods);
    context.progress(`${name}: settling …`);
    const usage = await whileScraped(kubelet, () => sleep(settleMs).then(() => readIdleUsage(kubelet.pid, { windows, windowMs })));
    context.progress(`${name}: ${usage.cores.toFixed(3)} cores, ${Math.round(usage.rssMB)} MB`);
    return usage;
  } finally {
    context.progress(`${name}: removing the pods …`);
    await kubelet.stop(() => driver.removeAll());
  }
}
