/** Starts a kubelet on the simulated runtime and waits until all its pods run. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ControlClient, SimulatedRuntimeProcess } from '../../lab/simulated-runtime/client.ts';
import { startRuntimeProcess } from '../../lab/simulated-runtime/client.ts';
import type { RuntimeOptionsInput } from '../../lab/simulated-runtime/options.ts';
import type { BenchContext } from './benchmark.ts';
import { KubeletProcess } from '../../lab/kubelet/kubelet-process.ts';

export interface SimulatedNode {
  readonly runtime: SimulatedRuntimeProcess;
  readonly control: ControlClient;
  readonly kubelet: KubeletProcess;
}

export interface SimulatedNodeOptions {
  readonly pods: number;
  readonly containersPerPod: number;
  readonly runtime?: RuntimeOptionsInput;
}

const image = 'registry.example/sim/run:1';
const timeoutMs = 180_000;

export async function startSimulatedNode({ progress, onEnd }: BenchContext, options: SimulatedNodeOptions): Promise<SimulatedNode> {
  const { pods, containersPerPod } = options;
  const runtime = await startRuntimeProcess({ images: [{ name: image }], ...options.runtime });
  onEnd(() => runtime.stop());
  const kubelet = await KubeletProcess.start({ runtimeEndpoint: runtime.endpoint, maxPods: pods + 10 });
  onEnd(() => kubelet.stop());
  progress(`starting ${pods} pods …`);
  const containers = Array.from({ length: containersPerPod }, (_, index) => ({
    name: `app-${index}`,
    image,
    imagePullPolicy: 'IfNotPresent',
  }));
  for (let index = 0; index < pods; index += 1) kubelet.writePod(`pod-${index}`, { terminationGracePeriodSeconds: 5, containers });
  await waitUntilAllRun(runtime.control, kubelet, pods * containersPerPod);
  return { runtime, control: runtime.control, kubelet };
}

async function waitUntilAllRun(control: ControlClient, kubelet: KubeletProcess, wanted: number): Promise<void> {
  const end = performance.now() + timeoutMs;
  for (;;) {
    const { containers } = await control.state();
    const running = containers.filter(({ state }) => state === 'running').length;
    const known = (await kubelet.pods()).reduce(
      (sum, { status }) => sum + (status?.containerStatuses?.filter(({ state }) => state?.running).length ?? 0),
      0,
    );
    if (running === wanted && known === wanted) return;
    if (performance.now() > end) {
      throw new Error(
        `${running} of ${wanted} containers run, the kubelet knows ${known}, after ${timeoutMs} ms; its log ends:\n${kubelet.logTail()}`,
      );
    }
    await sleep(200);
  }
}
