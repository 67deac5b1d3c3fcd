/**
 * Measures in-place resizes of one running pod on a real API server and containerd: from the request until the runtime has updated the container, and until a
 * watch sees the pod without a resize in progress. CPU grows, so that the runtime's call is the last change in the kernel: the pod's cgroup grows before.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ContainerStatus, Pod } from '../src/shared/kubernetes/api.ts';
import { monotonicMs } from '../src/shared/time/clock.ts';
import { RuntimeCalls, updateCall } from './driver/runtime-calls.ts';
import { ApiWatch } from './harness/api-watch.ts';
import type { Benchmark, Measurement } from './harness/benchmark.ts';
import { BenchCluster, namespace, nodeName } from './harness/cluster.ts';
import { benchPodSpec } from './harness/containerd.ts';
import { ensureGoKubelet } from './harness/go-kubelet.ts';
import type { KubeletProgram } from './harness/kubelet-process.ts';
import { percentile, unionLengthMs } from './harness/statistics.ts';

const repeats = 30;
const warmUps = 5;
const goalsMs = { overhead: 20, status: 50 };
const timeoutMs = 60_000;
/** After each resize: events and status writes end. */
const settleMs = 300;
const podsPath = `/api/v1/namespaces/${namespace}/pods`;
const sizes = { small: '100m', large: '200m' } as const;

interface Resize {
  /** From the request until the end of the runtime's last call. */
  readonly totalMs: number;
  readonly criMs: number;
  /** From there until a watch sees that the resize has ended. */
  readonly statusMs: number;
}

export const benchmark: Benchmark = {
  name: 'resize',
  about:
    'In-place resizes of the CPU of one pod of a real API server on containerd, one after the other. Own overhead: the resize request → the end of UpdateContainerResources, minus that call. The floor is the request alone, until a watch sees the changed pod.',
  needs: 'root',
  async run(context) {
    const cluster = await BenchCluster.start(context);
    const calls = new RuntimeCalls(cluster.containerd.logFile);
    context.onEnd(async () => calls.close());
    const peer = await resizesOf(cluster, calls, 'peer', await ensureGoKubelet(context.progress));
    const own = await resizesOf(cluster, calls, 'one');
    const overhead = ({ totalMs, criMs }: Resize) => totalMs - criMs;
    const row = (what: string, value: (resize: Resize) => number, percent: number): Measurement => ({
      what: `${what}, p${percent}`,
      value: percentile(own.resizes.map(value), percent),
      unit: 'ms',
      peer: percentile(peer.resizes.map(value), percent),
    });
    const seen = { what: 'a watch sees the request', value: percentile(own.floorsMs, 50) };
    const overheadRow = row('own overhead', overhead, 50);
    const statusRow = row('in force → a watch sees it', ({ statusMs }) => statusMs, 50);
    return {
      repeats: `${repeats} resizes, one after the other, after ${warmUps} warm-up resizes; the same number with the Go kubelet before`,
      measurements: [
        row('request → in force', ({ totalMs }) => totalMs, 50),
        row('request → in force', ({ totalMs }) => totalMs, 99),
        row('UpdateContainerResources', ({ criMs }) => criMs, 50),
        { ...overheadRow, floor: seen, goal: { text: `${goalsMs.overhead} ms`, met: overheadRow.value <= goalsMs.overhead } },
        row('own overhead', overhead, 99),
        { ...statusRow, goal: { text: `${goalsMs.status} ms`, met: statusRow.value <= goalsMs.status } },
      ],
    };
  },
};

async function resizesOf(cluster: BenchCluster, calls: RuntimeCalls, name: string, program?: KubeletProgram) {
  const kubelet = await cluster.join({ program });
  const pods = new PodStates();
  const watch = await ApiWatch.start<Pod>(cluster.api, podsPath, ({ object }, atMs) => pods.observe(object, atMs));
  try {
    await createPod(cluster, name);
    await watch.waitUntil(`${name} runs`, timeoutMs, () => pods.get(name)?.status?.phase === 'Running');
    const resizes: Resize[] = [];
    const floorsMs: number[] = [];
    for (let round = 0; round < warmUps + repeats; round += 1) {
      await sleep(settleMs);
      calls.take();
      const { beganMs, seenMs } = await resize(cluster, watch, pods, name, sizes.large);
      const done = await untilDone(watch, pods, name, sizes.large);
      const updates = calls.take().filter(({ call }) => call === updateCall);
      if (updates.length === 0) throw new Error('a resize took no call of the runtime');
      const inForceMs = Math.max(...updates.map(({ endMs }) => endMs));
      resizes.push({ totalMs: inForceMs - beganMs, criMs: unionLengthMs(updates), statusMs: done - inForceMs });
      floorsMs.push(seenMs - beganMs);
      await sleep(settleMs);
      await resize(cluster, watch, pods, name, sizes.small);
      await untilDone(watch, pods, name, sizes.small);
    }
    return { resizes: resizes.slice(warmUps), floorsMs: floorsMs.slice(warmUps) };
  } catch (err) {
    throw kubelet.withLog(err);
  } finally {
    await watch.close();
    await cluster.deletePod(name, { gracePeriodSeconds: 0 }).catch(() => {});
    await kubelet.stop(() => cluster.driver.removeAll());
  }
}

const cpuOf = (cpu: string) => ({ requests: { cpu }, limits: { cpu } });

function createPod(cluster: BenchCluster, name: string): Promise<unknown> {
  const [container] = benchPodSpec.containers;
  const containers = [{ ...container, resources: cpuOf(sizes.small) }];
  return cluster.api.create(podsPath, { metadata: { name }, spec: { ...benchPodSpec, nodeName, containers } });
}

/** Returns when the request began, and when a watch saw the changed pod; monotonic ms. */
async function resize(cluster: BenchCluster, watch: ApiWatch<Pod>, pods: PodStates, name: string, cpu: string) {
  pods.forgetTimes();
  const beganMs = monotonicMs();
  const patch = { spec: { containers: [{ name: 'app', resources: cpuOf(cpu) }] } };
  await cluster.api.patch(`${podsPath}/${name}/resize`, patch, 'strategic-merge');
  await watch.waitUntil('the request is seen', timeoutMs, () => pods.timeOf((pod) => wantedCPU(pod) === cpu) !== undefined);
  return { beganMs, seenMs: pods.timeOf((pod) => wantedCPU(pod) === cpu)! };
}

async function untilDone(watch: ApiWatch<Pod>, pods: PodStates, name: string, cpu: string): Promise<number> {
  const isDone = (pod: Pod) => pod.metadata.name === name && isResized(pod, cpu);
  await watch.waitUntil(`${name} is resized to ${cpu}`, timeoutMs, () => pods.timeOf(isDone) !== undefined);
  return pods.timeOf(isDone)!;
}

function wantedCPU({ spec }: Pod): string | undefined {
  return spec.containers[0]?.resources?.limits?.['cpu'];
}

function isResized({ status }: Pod, cpu: string): boolean {
  const isPending = status?.conditions?.some(({ type }) => type.startsWith('PodResize'));
  const [app]: readonly ContainerStatus[] = status?.containerStatuses ?? [];
  return !isPending && app?.resources?.limits?.['cpu'] === cpu && app.allocatedResources?.['cpu'] === cpu;
}

/** The versions of pods since the last request, with the monotonic ms at which a watch saw them. */
class PodStates {
  readonly #newest = new Map<string, Pod>();
  #seen: { readonly pod: Pod; readonly atMs: number }[] = [];

  observe(pod: Pod, atMs: number): void {
    this.#newest.set(pod.metadata.name, pod);
    this.#seen.push({ pod, atMs });
  }

  get(name: string): Pod | undefined {
    return this.#newest.get(name);
  }

  timeOf(condition: (pod: Pod) => boolean): number | undefined {
    return this.#seen.find(({ pod }) => condition(pod))?.atMs;
  }

  forgetTimes(): void {
    this.#seen = [];
  }
}
