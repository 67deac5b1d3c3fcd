/**
 * Measures in-place resizes on a real API server and containerd: from the moment when a watch sees the request until the runtime has updated the
 * container, and until a watch sees the pod without a resize in progress. CPU grows, so that the runtime's call is the last change in the kernel: the pod's
 * cgroup grows before. Then a resize that waits for another pod, and a hundred at once.
 */
import { watch as watchFolder } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ContainerStatus, Pod } from '../src/shared/kubernetes/api.ts';
import { monotonicMs } from '../src/shared/time/clock.ts';
import { RuntimeCalls, updateCall } from './driver/runtime-calls.ts';
import { ApiWatch } from './harness/api-watch.ts';
import type { Benchmark, Measurement } from './harness/benchmark.ts';
import { BenchCluster, namespace, nodeName } from './harness/cluster.ts';
import { benchPodSpec } from './harness/containerd.ts';
import { ensureGoKubelet } from './harness/go-kubelet.ts';
import type { KubeletProgram } from '../lab/kubelet/kubelet-program.ts';
import type { KubeletProcess } from '../lab/kubelet/kubelet-process.ts';
import { delayPercentileMs, startLoopDelayReading, type LoopDelays } from './harness/loop-delay.ts';
import { percentile, unionLengthMs } from './harness/statistics.ts';

const rounds = 2;
const repeats = 12;
const warmUps = 3;
const deferredRepeats = 5;
const burstPods = 100;
const goals = { overheadMs: 20, statusMs: 50, deferredMs: 100, loopMs: 50, checkpointWrites: 10 };
const timeoutMs = 60_000;
const burstTimeoutMs = 180_000;
/** After each resize: events and status writes end. */
const settleMs = 300;
const podsPath = `/api/v1/namespaces/${namespace}/pods`;
const sizes = { small: '100m', large: '200m' } as const;

interface Resize {
  /** From the request until the end of the runtime's last call. */
  readonly totalMs: number;
  /** From the request until a watch sees it. */
  readonly seenMs: number;
  readonly criMs: number;
  /** From the end of the runtime's last call until a watch sees that the resize has ended. */
  readonly statusMs: number;
}

/** From the moment when a watch sees the request of the pod that becomes smaller: its allocation is what makes room. */
interface DeferredResize {
  /** Until a watch sees the allocation. */
  readonly allocatedMs: number;
  /** Until the end of the runtime's call. */
  readonly inForceMs: number;
}

interface Burst {
  readonly doneMs: number;
  readonly delays: LoopDelays;
  /** The most of any checkpoint. */
  readonly checkpointWrites: number;
}

export const benchmark: Benchmark = {
  name: 'resize',
  about: `In-place resizes of the CPU of one pod of a real API server on containerd, one after the other. Own overhead: a watch sees the request → the end of UpdateContainerResources, minus that call. A deferred resize waits until another pod has become smaller. ${burstPods} pods are resized at once.`,
  needs: 'root',
  async run(context) {
    const cluster = await BenchCluster.start(context);
    const calls = new RuntimeCalls(cluster.containerd.logFile);
    context.onEnd(async () => calls.close());
    const program = await ensureGoKubelet(context.progress);
    const [own, peer] = [
      { resizes: [] as Resize[], deferred: [] as DeferredResize[] },
      { resizes: [] as Resize[], deferred: [] as DeferredResize[] },
    ];
    // Rounds alternate, so that other load on the machine affects both kubelets.
    for (let round = 1; round <= rounds; round += 1) {
      for (const [result, which] of [
        [own, undefined],
        [peer, program],
      ] as const) {
        const { resizes, deferred } = await resizesOf(cluster, calls, `${which ? 'peer' : 'own'}-${round}`, which);
        result.resizes.push(...resizes);
        result.deferred.push(...deferred);
      }
    }
    const burst = await burstOf(cluster);
    const overhead = ({ totalMs, criMs, seenMs }: Resize) => totalMs - criMs - seenMs;
    const row = (what: string, value: (resize: Resize) => number, percent: number) => ({
      what: `${what}, p${percent}`,
      value: percentile(own.resizes.map(value), percent),
      unit: 'ms',
      peer: percentile(peer.resizes.map(value), percent),
    });
    const deferredRow = (what: string, value: (resize: DeferredResize) => number) => ({
      what,
      value: percentile(own.deferred.map(value), 50),
      unit: 'ms',
      peer: percentile(peer.deferred.map(value), 50),
    });
    const overheadRow = row('own overhead', overhead, 50);
    const statusRow = row('in force → a watch sees it', ({ statusMs }) => statusMs, 50);
    const allocatedRow = deferredRow(
      'a smaller pod is asked for → a watch sees the allocation of a deferred resize, p50',
      ({ allocatedMs }) => allocatedMs,
    );
    const inForceRow = deferredRow('a smaller pod is asked for → a deferred resize is in force, p50', ({ inForceMs }) => inForceMs);
    const loopMs = delayPercentileMs(burst.delays, 99);
    const measurements: Measurement[] = [
      row('request → in force', ({ totalMs }) => totalMs, 50),
      row('request → a watch sees it', ({ seenMs }) => seenMs, 50),
      row('UpdateContainerResources', ({ criMs }) => criMs, 50),
      {
        ...overheadRow,
        goal: {
          text: `${goals.overheadMs} ms, ½ of the Go kubelet`,
          met: overheadRow.value <= goals.overheadMs && overheadRow.value <= overheadRow.peer / 2,
        },
      },
      row('own overhead', overhead, 90),
      { ...statusRow, goal: { text: `${goals.statusMs} ms`, met: statusRow.value <= goals.statusMs } },
      { ...allocatedRow, goal: { text: `${goals.deferredMs} ms`, met: allocatedRow.value <= goals.deferredMs } },
      { ...inForceRow, goal: { text: '⅓ of the Go kubelet', met: inForceRow.value <= inForceRow.peer / 3 } },
      { what: `${burstPods} at once: a watch sees that the last one has ended`, value: burst.doneMs / 1000, unit: 's' },
      {
        what: `${burstPods} at once: main’s loop, p99`,
        value: loopMs,
        unit: 'ms',
        goal: { text: `${goals.loopMs} ms`, met: loopMs <= goals.loopMs },
      },
      {
        what: `${burstPods} at once: writes of a checkpoint`,
        value: burst.checkpointWrites,
        unit: '',
        goal: { text: `${goals.checkpointWrites}`, met: burst.checkpointWrites <= goals.checkpointWrites },
      },
    ];
    return {
      repeats: `${rounds} rounds of ${repeats} resizes, one after the other, after ${warmUps} warm-up resizes, and of ${deferredRepeats} deferred ones, alternating with the Go kubelet’s; one burst`,
      measurements,
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
    for (let round = 0; round < warmUps + repeats; round += 1) {
      await sleep(settleMs);
      calls.take();
      const { beganMs, seenMs } = await resize(cluster, watch, pods, name, sizes.large);
      const done = await untilDone(watch, pods, name, sizes.large);
      const updates = calls.take().filter(({ call }) => call === updateCall);
      if (updates.length === 0) throw new Error('a resize took no call of the runtime');
      const inForceMs = Math.max(...updates.map(({ endMs }) => endMs));
      resizes.push({
        totalMs: inForceMs - beganMs,
        seenMs: seenMs - beganMs,
        criMs: unionLengthMs(updates),
        statusMs: done - inForceMs,
      });
      await sleep(settleMs);
      await resize(cluster, watch, pods, name, sizes.small);
      await untilDone(watch, pods, name, sizes.small);
    }
    const deferred = await deferredResizes(cluster, calls, watch, pods, name);
    return { resizes: resizes.slice(warmUps), deferred };
  } catch (err) {
    throw kubelet.withLog(err);
  } finally {
    await watch.close();
    for (const one of [name, fillerOf(name)]) await cluster.deletePod(one, { gracePeriodSeconds: 0 }).catch(() => {});
    await kubelet.stop(() => cluster.driver.removeAll());
  }
}

const fillerOf = (name: string) => `${name}-filler`;

/** Another pod has the rest of the node, and becomes smaller when the resize is deferred. */
async function deferredResizes(cluster: BenchCluster, calls: RuntimeCalls, watch: ApiWatch<Pod>, pods: PodStates, name: string) {
  const { status } = await cluster.api.get<{ status: { allocatable: { cpu: string } } }>(`/api/v1/nodes/${nodeName}`);
  const filler = fillerOf(name);
  const [full, reduced] = [`${Number(status.allocatable.cpu) * 1000 - 150}m`, `${Number(status.allocatable.cpu) * 1000 - 650}m`];
  const results: DeferredResize[] = [];
  await createPod(cluster, filler, full);
  await watch.waitUntil(`${filler} runs`, timeoutMs, () => pods.get(filler)?.status?.phase === 'Running');
  for (let round = 0; round < deferredRepeats; round += 1) {
    await sleep(settleMs);
    await resize(cluster, watch, pods, name, '500m');
    await watch.waitUntil(
      `${name} is deferred`,
      timeoutMs,
      () => pods.get(name)?.status?.conditions?.some(({ type }) => type === 'PodResizePending') === true,
    );
    await sleep(settleMs);
    calls.take();
    const { seenMs } = await resize(cluster, watch, pods, filler, reduced);
    await untilDone(watch, pods, name, '500m');
    const ends = calls.take().flatMap(({ call, endMs }) => (call === updateCall ? [endMs] : []));
    const allocatedMs = pods.timeOf(
      ({ metadata, status: own }) => metadata.name === name && own?.containerStatuses?.[0]?.allocatedResources?.['cpu'] === '500m',
    )!;
    results.push({ allocatedMs: allocatedMs - seenMs, inForceMs: Math.max(...ends) - seenMs });
    await sleep(settleMs);
    await resize(cluster, watch, pods, name, sizes.small);
    await untilDone(watch, pods, name, sizes.small);
    await resize(cluster, watch, pods, filler, full);
    await untilDone(watch, pods, filler, full);
  }
  return results;
}

async function burstOf(cluster: BenchCluster): Promise<Burst> {
  const kubelet = await cluster.join({ maxPods: burstPods + 10 });
  const pods = new PodStates();
  const watch = await ApiWatch.start<Pod>(cluster.api, podsPath, ({ object }, atMs) => pods.observe(object, atMs));
  const names = Array.from({ length: burstPods }, (_, index) => `resized-${index}`);
  try {
    await Promise.all(names.map((name) => createPod(cluster, name, '2m')));
    await watch.waitUntil('all pods run', burstTimeoutMs, () => names.every((name) => pods.get(name)?.status?.phase === 'Running'));
    await sleep(settleMs * 10);
    const readDelays = await startLoopDelayReading(kubelet);
    using writes = countCheckpointWrites(kubelet);
    const beganMs = monotonicMs();
    await Promise.all(names.map((name) => requestResize(cluster, name, '4m')));
    await watch.waitUntil('all pods are resized', burstTimeoutMs, () => names.every((name) => isResized(pods.get(name)!, '4m')));
    const doneMs = monotonicMs() - beganMs;
    const delays = await readDelays();
    return { doneMs, delays, checkpointWrites: writes.most() };
  } catch (err) {
    throw kubelet.withLog(err);
  } finally {
    await watch.close();
    await Promise.all(names.map((name) => cluster.deletePod(name, { gracePeriodSeconds: 0 }).catch(() => {})));
    await kubelet.stop(() => cluster.driver.removeAll());
  }
}

/** A checkpoint is written by a rename. */
function countCheckpointWrites(kubelet: KubeletProcess): Disposable & { readonly most: () => number } {
  const counts = new Map<string, number>();
  const watcher = watchFolder(kubelet.rootFolder, (type, file) => {
    if (type === 'rename' && file?.endsWith('_pods_state')) counts.set(file, (counts.get(file) ?? 0) + 1);
  });
  return { most: () => Math.max(0, ...counts.values()), [Symbol.dispose]: () => watcher.close() };
}

const cpuOf = (cpu: string) => ({ requests: { cpu }, limits: { cpu } });

function createPod(cluster: BenchCluster, name: string, cpu: string = sizes.small): Promise<unknown> {
  const [container] = benchPodSpec.containers;
  const containers = [{ ...container, resources: cpuOf(cpu) }];
  return cluster.api.create(podsPath, { metadata: { name }, spec: { ...benchPodSpec, nodeName, containers } });
}

/** Returns when the request began, and when a watch saw the changed pod; monotonic ms. */
async function resize(cluster: BenchCluster, watch: ApiWatch<Pod>, pods: PodStates, name: string, cpu: string) {
  pods.forgetTimes();
  const beganMs = monotonicMs();
  await requestResize(cluster, name, cpu);
  const isWanted = (pod: Pod) => pod.metadata.name === name && wantedCPU(pod) === cpu;
  await watch.waitUntil('the request is seen', timeoutMs, () => pods.timeOf(isWanted) !== undefined);
  return { beganMs, seenMs: pods.timeOf(isWanted)! };
}

async function requestResize(cluster: BenchCluster, name: string, cpu: string): Promise<void> {
  const patch = { spec: { containers: [{ name: 'app', resources: cpuOf(cpu) }] } };
  await cluster.api.patch(`${podsPath}/${name}/resize`, patch, 'strategic-merge');
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
