/**
 * Measures the removal of many dead instances of one container, as a crash loop leaves them when the kubelet was down: from the first to the last
 * RemoveContainer call. Their cost must not grow with the square of their number. The Go kubelet removes the same instances.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { CriClient } from '../src/shared/cri/client.ts';
import type { Benchmark, BenchContext, Measurement } from './harness/benchmark.ts';
import { ensureGoKubelet, standalone } from './harness/go-kubelet.ts';
import type { KubeletProgram } from '../lab/kubelet/kubelet-program.ts';
import { KubeletProcess } from '../lab/kubelet/kubelet-process.ts';
import { readProcessUsage } from './harness/process-usage.ts';
import { startRuntimeProcess, type ControlClient } from '../lab/simulated-runtime/client.ts';

const image = 'registry.example/sim/run:1';
const counts = [75, 300] as const;
const timeoutMs = 120_000;
const limits = { deadlineMs: 10_000 };

export const benchmark: Benchmark = {
  name: 'dead-instances',
  about:
    'Dead instances of one container are found at the start of the kubelet: first → last RemoveContainer call, and CPU time from the start of the kubelet. The simulated runtime takes containerd’s time for each call.',
  needs: 'root',
  async run(context) {
    const peer = standalone(await ensureGoKubelet(context.progress));
    const measurements: Measurement[] = [];
    for (const count of counts) {
      const own = await measure(context, count);
      const go = await measure(context, count, peer);
      measurements.push(
        {
          what: `${count} dead instances removed`,
          value: own.tookMs,
          unit: 'ms',
          peer: go.tookMs,
          ...(count === 300 && { goal: { text: 'the Go kubelet', met: own.tookMs <= go.tookMs } }),
        },
        { what: `CPU, start and ${count} removals`, value: own.cpuMs, unit: 'ms', peer: go.cpuMs },
      );
    }
    return { repeats: 'once each', measurements };
  },
};

async function measure({ progress, onEnd }: BenchContext, count: number, program?: KubeletProgram) {
  const runtime = await startRuntimeProcess({ images: [{ name: image }] });
  onEnd(() => runtime.stop());
  const { control } = runtime;
  const kubelet = await KubeletProcess.start({ runtimeEndpoint: runtime.endpoint, ...(program && { program }) });
  onEnd(() => kubelet.stop());
  progress(`${program ? 'Go kubelet' : 'kubelet'}: ${count} instances …`);
  kubelet.writePod('many', { terminationGracePeriodSeconds: 1, containers: [{ name: 'app', image, imagePullPolicy: 'Never' }] });
  await until('the pod runs', kubelet, async () => (await instances(control)).some(({ state }) => state === 'running'));
  await kubelet.terminate();
  await addDeadInstances(runtime.endpoint, control, count);
  await control.configure({ preset: 'containerd' });
  await control.resetCounters();
  kubelet.restart();
  await until('few instances are left', kubelet, async () => (await instances(control)).length <= 3);
  const { cpuSeconds } = readProcessUsage(kubelet.pid);
  const removals = await control.calls('RemoveContainer');
  await kubelet.stop();
  await runtime.stop();
  return {
    tookMs: Math.max(...removals.map(({ endMs }) => endMs)) - Math.min(...removals.map(({ startMs }) => startMs)),
    cpuMs: cpuSeconds * 1000,
  };
}

async function instances(control: ControlClient) {
  return (await control.state()).containers;
}

/** As the kubelet would have made them. The newest one has ended too. */
async function addDeadInstances(endpoint: string, control: ControlClient, count: number): Promise<void> {
  const { runtime, close } = clientOf(endpoint);
  const { containers } = await runtime.call('listContainers', {}, limits);
  const { id, metadata, labels, annotations, image: used, podSandboxId } = containers[0]!;
  const { status } = await runtime.call('podSandboxStatus', { podSandboxId }, limits);
  const sandboxConfig = { metadata: status!.metadata, labels: status!.labels, logDirectory: '' };
  for (let attempt = 1; attempt <= count; attempt += 1) {
    const config = {
      metadata: { name: metadata!.name, attempt },
      image: used,
      labels,
      annotations: { ...annotations, 'io.kubernetes.container.restartCount': String(attempt) },
      logPath: `app/${attempt}.log`,
    };
    const { containerId } = await runtime.call('createContainer', { podSandboxId, config, sandboxConfig }, limits);
    await runtime.call('startContainer', { containerId }, limits);
    await control.exitContainer(containerId, 1);
  }
  await control.exitContainer(id, 1);
  close();
}

function clientOf(endpoint: string) {
  const client = new CriClient({ endpoint });
  return { runtime: client.runtime, close: () => client.close() };
}

async function until(what: string, kubelet: KubeletProcess, condition: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + timeoutMs;
  while (!(await condition())) {
    if (performance.now() > end) throw kubelet.withLog(new Error(`not within ${timeoutMs} ms: ${what}`));
    await sleep(50);
  }
}
