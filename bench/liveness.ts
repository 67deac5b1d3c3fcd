/**
 * Measures how soon the kubelet acts on a failed liveness probe: the failing command ends → the runtime receives StopContainer, and then CreateContainer for
 * the successor. On an idle node, and while other pods start. The Go kubelet runs the same pods.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Benchmark, BenchContext, Measurement } from './harness/benchmark.ts';
import { podNames } from './harness/exit-to-restart.ts';
import { ensureGoKubelet, standalone } from './harness/go-kubelet.ts';
import type { KubeletProgram } from '../lab/kubelet/kubelet-program.ts';
import { KubeletProcess } from '../lab/kubelet/kubelet-process.ts';
import { percentile } from './harness/statistics.ts';
import type { CallRecord } from '../lab/simulated-runtime/call-log.ts';
import { startRuntimeProcess, type ControlClient } from '../lab/simulated-runtime/client.ts';

const pods = 60;
const burstPods = 60;
const goalMs = 100;
const meanGapMs = 100;
const timeoutMs = 120_000;
const image = 'registry.example/sim/run:1';
const livenessProbe = { exec: { command: ['check'] }, periodSeconds: 1, timeoutSeconds: 1, failureThreshold: 1 };

/** In ms since the end of the failing command. */
interface Reactions {
  readonly stop: readonly number[];
  readonly create: readonly number[];
}

export const benchmark: Benchmark = {
  name: 'liveness',
  about: `A liveness probe fails (a command of the simulated runtime, failureThreshold 1) → StopContainer, and → CreateContainer of the successor; ${pods} pods, one after the other, then again while ${burstPods} others start. The runtime's calls take containerd's time in the burst, and none otherwise.`,
  needs: 'root',
  async run(context) {
    const peer = standalone(await ensureGoKubelet(context.progress));
    const own = await measure(context, {});
    const go = await measure(context, { program: peer });
    const inBurst = await measure(context, { burst: true });
    return {
      repeats: `${pods} failures at random times`,
      measurements: [...describe('an idle node', own, go), ...describe(`${burstPods} pods start`, inBurst)],
    };
  },
};

function describe(where: string, own: Reactions, peer?: Reactions): Measurement[] {
  const p99 = percentile(own.stop, 99);
  return [
    {
      what: `failure → StopContainer p50, ${where}`,
      value: percentile(own.stop, 50),
      unit: 'ms',
      ...(peer && { peer: percentile(peer.stop, 50) }),
    },
    {
      what: `failure → StopContainer p99, ${where}`,
      value: p99,
      unit: 'ms',
      ...(peer && { peer: percentile(peer.stop, 99) }),
      goal: { text: `${goalMs} ms`, met: p99 <= goalMs },
    },
    // In the burst the runtime takes seconds to stop a container: the rest is not the kubelet's.
    ...(peer
      ? [
          {
            what: `failure → CreateContainer p99, ${where}`,
            value: percentile(own.create, 99),
            unit: 'ms',
            peer: percentile(peer.create, 99),
          } as const,
        ]
      : []),
  ];
}

interface NodeOptions {
  readonly program?: KubeletProgram;
  readonly burst?: boolean;
}

async function measure({ progress, onEnd }: BenchContext, { program, burst = false }: NodeOptions): Promise<Reactions> {
  const runtime = await startRuntimeProcess({ images: [{ name: image }] });
  onEnd(() => runtime.stop());
  const kubelet = await KubeletProcess.start({
    runtimeEndpoint: runtime.endpoint,
    maxPods: pods + burstPods + 10,
    ...(program && { program }),
  });
  onEnd(() => kubelet.stop());
  progress(`${program ? 'Go kubelet' : 'kubelet'}: ${pods} pods${burst ? `, while ${burstPods} others start` : ''} …`);
  const container = { name: 'app-0', image, imagePullPolicy: 'Never', livenessProbe };
  for (let pod = 0; pod < pods; pod += 1) kubelet.writePod(`pod-${pod}`, { terminationGracePeriodSeconds: 1, containers: [container] });
  await waitUntilProbed(runtime.control, kubelet);
  if (burst) {
    await runtime.control.configure({ preset: 'containerd' });
    for (let pod = 0; pod < burstPods; pod += 1)
      kubelet.writePod(`burst-${pod}`, { containers: [{ ...container, livenessProbe: undefined }] });
  }
  await runtime.control.resetCounters();
  for (const name of podNames(0, pods)) {
    await runtime.control.execResult(name, { exitCode: 1 });
    if (!burst) await sleep(Math.random() * 2 * meanGapMs);
  }
  const reactions = await waitForReactions(runtime.control, kubelet);
  await kubelet.stop();
  await runtime.stop();
  return reactions;
}

/** Waits for the first restart of each container. */
async function waitForReactions(control: ControlClient, kubelet: KubeletProcess): Promise<Reactions> {
  const end = performance.now() + timeoutMs;
  for (;;) {
    const calls = await Promise.all([control.calls('ExecSync'), control.calls('StopContainer'), control.calls('CreateContainer')]);
    const found = toReactions(...calls);
    if (found.create.length === pods) return found;
    if (performance.now() > end) {
      throw kubelet.withLog(new Error(`${pods - found.create.length} of ${pods} containers did not restart within ${timeoutMs} ms`));
    }
    await sleep(100);
  }
}

function toReactions(probes: readonly CallRecord[], stops: readonly CallRecord[], creates: readonly CallRecord[]): Reactions {
  const firstStops = new Map(stops.toReversed().map((call) => [call.subject, call]));
  const restarted = [...firstStops].flatMap(([subject, { startMs }]) => {
    const failed = probes.findLast((probe) => probe.subject === subject && probe.endMs <= startMs);
    const created = creates.find((create) => create.subject === subject && create.startMs >= startMs);
    return failed && created ? [{ stop: startMs - failed.endMs, create: created.startMs - failed.endMs }] : [];
  });
  return { stop: restarted.map(({ stop }) => stop), create: restarted.map(({ create }) => create) };
}

async function waitUntilProbed(control: ControlClient, kubelet: KubeletProcess): Promise<void> {
  const end = performance.now() + timeoutMs;
  for (;;) {
    const probed = new Set((await control.calls('ExecSync')).map(({ subject }) => subject));
    if (probed.size === pods) return;
    if (performance.now() > end) throw kubelet.withLog(new Error(`${probed.size} of ${pods} containers are probed after ${timeoutMs} ms`));
    await sleep(200);
  }
}
