/**
 * Measures in-place resizes on a real API server and containerd: from the moment when a watch sees the request until the runtime has updated the
 * container, and until a watch sees the pod without a resize in progress. CPU grows, so that the runtime's call is the last change in the kernel: the pod's
 * cgroup grows before. Then a resize that waits for another pod, and a hundred at once.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { RuntimeCalls, updateCall } from './driver/runtime-calls.ts';
import type { Benchmark, Measurement } from './harness/benchmark.ts';
import { BenchCluster, nodeName } from './harness/cluster.ts';
import { ensureGoKubelet } from './harness/go-kubelet.ts';
import type { KubeletProgram } from '../lab/kubelet/kubelet-program.ts';
import { delayPercentileMs } from './harness/loop-delay.ts';
import { resizeAllAtOnce } from './harness/resize-burst.ts';
import { ResizedPods } from './harness/resized-pods.ts';
import { isSmallest } from './harness/sizes.ts';
import { percentile, unionLengthMs } from './harness/statistics.ts';

const [rounds, repeats, warmUps, deferredRepeats, freedRepeats, burstPods] = isSmallest ? [1, 1, 0, 1, 1, 4] : [2, 12, 3, 5, 3, 100];
const goals = { overheadMs: 20, statusMs: 50, deferredMs: 100, loopMs: 50, checkpointWrites: 10 };
/** After each resize: events and status writes end. */
const settleMs = 300;
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

/** From what makes room: the moment when a watch sees the request of the pod that becomes smaller, or that at which the runtime has stopped a container. */
interface DeferredResize {
  /** Until a watch sees the allocation. */
  readonly allocatedMs: number;
  /** Until the end of the runtime's call. */
  readonly inForceMs: number;
}

export const benchmark: Benchmark = {
  name: 'resize',
  about: `In-place resizes of the CPU of one pod of a real API server on containerd, one after the other. Own overhead: a watch sees the request → the end of UpdateContainerResources, minus that call. A deferred resize waits until another pod has become smaller, or has ended. ${burstPods} pods are resized at once, and another one is started beside them.`,
  needs: 'root',
  async run(context) {
    const cluster = await BenchCluster.start(context);
    const calls = new RuntimeCalls(cluster.containerd.logFile);
    context.onEnd(async () => calls.close());
    const program = await ensureGoKubelet(context.progress);
    const [own, peer] = [
      { resizes: [] as Resize[], deferred: [] as DeferredResize[], freed: [] as DeferredResize[] },
      { resizes: [] as Resize[], deferred: [] as DeferredResize[], freed: [] as DeferredResize[] },
    ];
    // Rounds alternate, so that other load on the machine affects both kubelets.
    for (let round = 1; round <= rounds; round += 1) {
      for (const [result, which] of [
        [own, undefined],
        [peer, program],
      ] as const) {
        const { resizes, deferred, freed } = await resizesOf(cluster, calls, `${which ? 'peer' : 'own'}-${round}`, which);
        result.resizes.push(...resizes);
        result.deferred.push(...deferred);
        result.freed.push(...freed);
      }
    }
    const burst = await resizeAllAtOnce(cluster, calls, burstPods, settleMs);
    const overhead = ({ totalMs, criMs, seenMs }: Resize) => totalMs - criMs - seenMs;
    const row = (what: string, value: (resize: Resize) => number, percent: number) => ({
      what: `${what}, p${percent}`,
      value: percentile(own.resizes.map(value), percent),
      unit: 'ms',
      peer: percentile(peer.resizes.map(value), percent),
    });
    const deferredRow = (what: string, value: (resize: DeferredResize) => number, of: 'deferred' | 'freed' = 'deferred') => ({
      what,
      value: percentile(own[of].map(value), 50),
      unit: 'ms',
      peer: percentile(peer[of].map(value), 50),
    });
    const overheadRow = row('own overhead', overhead, 50);
    const statusRow = row('in force → a watch sees it', ({ statusMs }) => statusMs, 50);
    const allocatedRow = deferredRow(
      'a smaller pod is asked for → a watch sees the allocation of a deferred resize, p50',
      ({ allocatedMs }) => allocatedMs,
    );
    const inForceRow = deferredRow('a smaller pod is asked for → a deferred resize is in force, p50', ({ inForceMs }) => inForceMs);
    const ended = 'the runtime has stopped the container of a pod →';
    const freedRow = deferredRow(
      `${ended} a watch sees the allocation of a deferred resize, p50`,
      ({ allocatedMs }) => allocatedMs,
      'freed',
    );
    const freedInForceRow = deferredRow(`${ended} a deferred resize is in force, p50`, ({ inForceMs }) => inForceMs, 'freed');
    const delayedMs = Math.max(0, burst.startMs.beside - burst.startMs.alone);
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
      { ...freedRow, goal: { text: `${goals.deferredMs} ms`, met: freedRow.value <= goals.deferredMs } },
      { ...freedInForceRow, goal: { text: '⅓ of the Go kubelet', met: freedInForceRow.value <= freedInForceRow.peer / 3 } },
      { what: `${burstPods} at once: UpdateContainerResources, p50`, value: burst.callMs, unit: 'ms' },
      {
        what: `${burstPods} at once: how much later than alone the sandbox of another pod is requested`,
        value: delayedMs,
        unit: 'ms',
        goal: { text: 'one call of the runtime', met: delayedMs <= burst.callMs },
      },
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
      repeats: `${rounds} rounds of ${repeats} resizes, one after the other, after ${warmUps} warm-up resizes, of ${deferredRepeats} deferred ones, and of ${freedRepeats} that a pod's end frees, alternating with the Go kubelet’s; one burst`,
      measurements,
    };
  },
};

async function resizesOf(cluster: BenchCluster, calls: RuntimeCalls, name: string, program?: KubeletProgram) {
  const kubelet = await cluster.join({ program });
  const pods = await ResizedPods.watch(cluster);
  try {
    await pods.create(name, sizes.small);
    await pods.untilRunning(name);
    const resizes: Resize[] = [];
    for (let round = 0; round < warmUps + repeats; round += 1) {
      await sleep(settleMs);
      calls.take();
      const { beganMs, seenMs } = await pods.resize(name, sizes.large);
      const done = await pods.untilDone(name, sizes.large);
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
      await pods.resize(name, sizes.small);
      await pods.untilDone(name, sizes.small);
    }
    const room = await freeMilliCPU(cluster);
    const deferred = await deferredResizes(calls, pods, name, room);
    const freed = await freedResizes(cluster, calls, pods, name, room);
    return { resizes: resizes.slice(warmUps), deferred, freed };
  } catch (err) {
    throw kubelet.withLog(err);
  } finally {
    await pods.close();
    await pods.remove(name, fillerOf(name));
    await kubelet.stop(() => cluster.driver.removeAll());
  }
}

const fillerOf = (name: string) => `${name}-filler`;

async function freeMilliCPU(cluster: BenchCluster): Promise<number> {
  const { status } = await cluster.api.get<{ status: { allocatable: { cpu: string } } }>(`/api/v1/nodes/${nodeName}`);
  return Number(status.allocatable.cpu) * 1000;
}

/** Another pod has the rest of the node, and becomes smaller when the resize is deferred. */
async function deferredResizes(calls: RuntimeCalls, pods: ResizedPods, name: string, room: number): Promise<DeferredResize[]> {
  const filler = fillerOf(name);
  const [full, reduced] = [`${room - 150}m`, `${room - 650}m`];
  const results: DeferredResize[] = [];
  await pods.create(filler, full);
  await pods.untilRunning(filler);
  for (let round = 0; round < deferredRepeats; round += 1) {
    await sleep(settleMs);
    await pods.resize(name, '500m');
    await pods.untilPending(name);
    await sleep(settleMs);
    calls.take();
    const { seenMs } = await pods.resize(filler, reduced);
    results.push(await sinceRoom(calls, pods, name, () => seenMs));
    await sleep(settleMs);
    await pods.resize(name, sizes.small);
    await pods.untilDone(name, sizes.small);
    await pods.resize(filler, full);
    await pods.untilDone(filler, full);
  }
  await pods.remove(filler);
  // Until it no longer counts.
  await sleep(settleMs * 10);
  return results;
}

/** Another pod has the rest of the node, and ends when the resize is deferred. */
async function freedResizes(
  cluster: BenchCluster,
  calls: RuntimeCalls,
  pods: ResizedPods,
  name: string,
  room: number,
): Promise<DeferredResize[]> {
  const results: DeferredResize[] = [];
  for (let round = 0; round < freedRepeats; round += 1) {
    const ending = `${name}-ending-${round}`;
    await sleep(settleMs);
    await pods.create(ending, `${room - 150}m`);
    await pods.untilRunning(ending);
    await pods.resize(name, '500m');
    await pods.untilPending(name);
    await sleep(settleMs);
    calls.take();
    pods.forgetTimes();
    await cluster.deletePod(ending, { gracePeriodSeconds: 1 });
    const stopEnd = (taken: ReturnType<RuntimeCalls['take']>) => taken.find(({ call }) => call === 'StopContainer')!.endMs;
    results.push(await sinceRoom(calls, pods, name, stopEnd));
    await sleep(settleMs);
    await pods.resize(name, sizes.small);
    await pods.untilDone(name, sizes.small);
  }
  return results;
}

/** @param roomMs when there was room, from the runtime's calls */
async function sinceRoom(
  calls: RuntimeCalls,
  pods: ResizedPods,
  name: string,
  roomMs: (taken: ReturnType<RuntimeCalls['take']>) => number,
): Promise<DeferredResize> {
  await pods.untilDone(name, '500m');
  const taken = calls.take();
  const beganMs = roomMs(taken);
  const ends = taken.flatMap(({ call, endMs }) => (call === updateCall ? [endMs] : []));
  return { allocatedMs: pods.allocatedAt(name, '500m') - beganMs, inForceMs: Math.max(...ends) - beganMs };
}
