/**
 * Measures probes: CPU time of the kubelet, and how regularly each container is probed, seen from the target of HTTP probes and from the runtime of exec
 * probes. The Go kubelet runs the same pods.
 */
import { fork } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ProbeTarget, type ProbeRequest } from './driver/probe-target.ts';
import type { Benchmark, BenchContext, Measurement } from './harness/benchmark.ts';
import { ensureGoKubelet, standalone } from './harness/go-kubelet.ts';
import type { KubeletProgram } from '../lab/kubelet/kubelet-program.ts';
import { KubeletProcess } from '../lab/kubelet/kubelet-process.ts';
import { histogramPercentile } from './harness/histogram-percentile.ts';
import { readProcessUsage } from './harness/process-usage.ts';
import { percentile } from './harness/statistics.ts';
import { startRuntimeProcess, type ControlClient } from '../lab/simulated-runtime/client.ts';

const [httpPods, execPods, containersPerPod] = [100, 10, 10];
const periodMs = 1000;
/** Waits for the work that follows the starts, and for the first probes. */
const settleMs = 15_000;
const windowMs = 30_000;
const goals = { cores: 0.5, latenessMs: 100 };
const timeoutMs = 180_000;
const image = 'registry.example/sim/run:1';

type Probe = object | undefined;

interface Node {
  readonly cores: number;
  /** Probes a second. */
  readonly rate: number;
  /** By how much the time between two probes of a container differs from its period, p99. */
  readonly jitterMs: number;
  /** By this kubelet's metric; NaN for the Go kubelet. */
  readonly latenessMs: number;
}

export const benchmark: Benchmark = {
  name: 'probes',
  about: `Readiness probes each second on the simulated runtime: ${httpPods * containersPerPod} containers with HTTP probes of a process on this host, then ${execPods * containersPerPod} with exec probes. CPU is that of the whole kubelet. The floor of HTTP probes is a process that only sends as many requests.`,
  needs: 'root',
  async run(context) {
    const peer = standalone(await ensureGoKubelet(context.progress));
    const http = await measureHttp(context);
    const peerHttp = await measureHttp(context, peer);
    const floor = await measureBare(context);
    const exec = await measureExec(context);
    const peerExec = await measureExec(context, peer);
    const idle = await measureNode(context, { pods: httpPods, probe: () => undefined, probes: async () => [] });
    return {
      repeats: `windows of ${windowMs / 1000} s, ${settleMs / 1000} s after the last start; ${Math.round(http.rate)} HTTP probes a second (Go kubelet ${Math.round(peerHttp.rate)}), ${Math.round(exec.rate)} exec probes (${Math.round(peerExec.rate)})`,
      measurements: [
        {
          what: `CPU, 1,000 HTTP probes a second`,
          value: http.cores,
          unit: 'cores',
          peer: peerHttp.cores,
          floor: { what: 'requests only', value: floor },
          goal: { text: `${goals.cores} cores`, met: http.cores <= goals.cores },
        },
        { what: `CPU, the same pods without probes`, value: idle.cores, unit: 'cores' },
        ...regularity('1,000 HTTP probes a second', http, peerHttp),
        { what: `CPU, 100 exec probes a second`, value: exec.cores, unit: 'cores', peer: peerExec.cores },
        ...regularity('100 exec probes a second', exec, peerExec),
      ],
    };
  },
};

function regularity(what: string, own: Node, peer: Node): Measurement[] {
  return [
    {
      what: `lateness p99, ${what}`,
      value: own.latenessMs,
      unit: 'ms',
      goal: { text: `${goals.latenessMs} ms`, met: own.latenessMs <= goals.latenessMs },
    },
    { what: `deviation of the period p99, ${what}`, value: own.jitterMs, unit: 'ms', peer: peer.jitterMs },
  ];
}

async function measureHttp(context: BenchContext, program?: KubeletProgram): Promise<Node> {
  const target = await ProbeTarget.start();
  context.onEnd(async () => target.close());
  const probe = (path: string) => ({ httpGet: { host: '127.0.0.1', port: target.port, path } });
  const node = await measureNode(context, { pods: httpPods, probe, probes: () => target.requests(), ...(program && { program }) });
  target.close();
  return node;
}

function measureExec(context: BenchContext, program?: KubeletProgram): Promise<Node> {
  const probes = async (control: ControlClient) => {
    const calls = await control.calls('ExecSync');
    await control.resetCounters();
    return calls.map(({ subject, startMs }): ProbeRequest => [subject, startMs]);
  };
  return measureNode(context, { pods: execPods, probe: () => ({ exec: { command: ['check'] } }), probes, ...(program && { program }) });
}

interface NodeOptions {
  readonly pods: number;
  readonly probe: (path: string) => Probe;
  /** Returns the probes since the last call. */
  readonly probes: (control: ControlClient) => Promise<readonly ProbeRequest[]>;
  readonly program?: KubeletProgram;
}

async function measureNode({ progress, onEnd }: BenchContext, { pods, probe, probes, program }: NodeOptions): Promise<Node> {
  const runtime = await startRuntimeProcess({ images: [{ name: image }] });
  onEnd(() => runtime.stop());
  const kubelet = await KubeletProcess.start({ runtimeEndpoint: runtime.endpoint, maxPods: pods + 10, ...(program && { program }) });
  onEnd(() => kubelet.stop());
  progress(`${program ? 'Go kubelet' : 'kubelet'}: ${pods * containersPerPod} containers …`);
  for (let pod = 0; pod < pods; pod += 1) kubelet.writePod(`pod-${pod}`, podSpec(pod, probe));
  await waitUntilReady(kubelet, pods * containersPerPod);
  await sleep(settleMs);
  await probes(runtime.control);
  const before = { usage: readProcessUsage(kubelet.pid), metrics: await kubelet.metrics(), atMs: performance.now() };
  await sleep(windowMs);
  const seconds = (performance.now() - before.atMs) / 1000;
  const cores = (readProcessUsage(kubelet.pid).cpuSeconds - before.usage.cpuSeconds) / seconds;
  const latenessMs = 1000 * histogramPercentile('kubelet_probe_lateness_seconds', before.metrics, await kubelet.metrics(), 99);
  const all = await probes(runtime.control);
  await kubelet.stop();
  await runtime.stop();
  const jitterMs = all.length === 0 ? 0 : percentile(deviations(all), 99);
  progress(`${cores.toFixed(3)} cores, ${Math.round(all.length / seconds)} probes a second, deviation p99 ${Math.round(jitterMs)} ms`);
  return { cores, rate: all.length / seconds, jitterMs, latenessMs };
}

function podSpec(pod: number, probe: (path: string) => Probe): object {
  const containers = Array.from({ length: containersPerPod }, (_, index) => {
    const action = probe(`/${pod}/${index}`);
    return {
      name: `app-${index}`,
      image,
      imagePullPolicy: 'Never',
      ...(action && { readinessProbe: { ...action, periodSeconds: periodMs / 1000, timeoutSeconds: 1, failureThreshold: 1 } }),
    };
  });
  return { terminationGracePeriodSeconds: 0, containers };
}

/** Differences between the period and the time between two probes of the same container. */
function deviations(probes: readonly ProbeRequest[]): number[] {
  const last = new Map<string, number>();
  const found: number[] = [];
  for (const [path, atMs] of probes) {
    const previousMs = last.get(path);
    if (previousMs !== undefined) found.push(Math.abs(atMs - previousMs - periodMs));
    last.set(path, atMs);
  }
  return found;
}

/** Returns the cores that a process uses which sends 1,000 requests a second. */
async function measureBare({ progress, onEnd }: BenchContext): Promise<number> {
  progress('requests only …');
  const target = await ProbeTarget.start();
  onEnd(async () => target.close());
  const bare = fork(join(import.meta.dirname, 'driver/bare-probes-process.ts'), [
    String(target.port),
    String((httpPods * containersPerPod * 1000) / periodMs),
  ]);
  onEnd(async () => void bare.kill());
  await sleep(5000);
  const before = readProcessUsage(bare.pid!).cpuSeconds;
  const beganMs = performance.now();
  await sleep(windowMs);
  const cores = (readProcessUsage(bare.pid!).cpuSeconds - before) / ((performance.now() - beganMs) / 1000);
  bare.kill();
  target.close();
  return cores;
}

async function waitUntilReady(kubelet: KubeletProcess, wanted: number): Promise<void> {
  const end = performance.now() + timeoutMs;
  for (;;) {
    const ready = (await kubelet.pods()).reduce(
      (sum, { status }) => sum + (status?.containerStatuses?.filter((container) => container.ready).length ?? 0),
      0,
    );
    if (ready === wanted) return;
    if (performance.now() > end) throw kubelet.withLog(new Error(`${ready} of ${wanted} containers are ready after ${timeoutMs} ms`));
    await sleep(200);
  }
}
