/** Many resizes at once on this kubelet, and the start of another pod beside them. */
import { watch as watchFolder } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeletProcess } from '../../lab/kubelet/kubelet-process.ts';
import { monotonicMs } from '../../src/shared/time/clock.ts';
import { type RuntimeCalls, updateCall } from '../driver/runtime-calls.ts';
import type { BenchCluster } from './cluster.ts';
import { startLoopDelayReading, type LoopDelays } from './loop-delay.ts';
import { ResizedPods } from './resized-pods.ts';
import { percentile } from './statistics.ts';

export interface ResizeBurst {
  readonly doneMs: number;
  readonly delays: LoopDelays;
  /** The most of any checkpoint. */
  readonly checkpointWrites: number;
  /** From the moment when a watch sees the pod until RunPodSandbox begins. */
  readonly startMs: { readonly alone: number; readonly beside: number };
  /** UpdateContainerResources in the burst, p50. */
  readonly callMs: number;
}

const sandboxCall = 'RunPodSandbox';

/** @param settleMs what follows a start or a resize ends within this time */
export async function resizeAllAtOnce(cluster: BenchCluster, calls: RuntimeCalls, count: number, settleMs: number): Promise<ResizeBurst> {
  const kubelet = await cluster.join({ maxPods: count + 10 });
  const pods = await ResizedPods.watch(cluster);
  const names = Array.from({ length: count }, (_, index) => `resized-${index}`);
  const starters = { alone: 'started-alone', beside: 'started-beside' };
  const start = async (name: string) => {
    await pods.create(name, '1m');
    await pods.untilRunning(name);
    return pods.untilSeen(`${name} is there`, name, () => true);
  };
  const sandboxStart = (taken: ReturnType<RuntimeCalls['take']>) => taken.find(({ call }) => call === sandboxCall)!.startMs;
  try {
    await Promise.all(names.map((name) => pods.create(name, '2m')));
    await pods.untilRunning(...names);
    await sleep(settleMs * 10);
    calls.take();
    pods.forgetTimes();
    const seenAloneMs = await start(starters.alone);
    const alone = sandboxStart(calls.take()) - seenAloneMs;
    await sleep(settleMs * 10);
    const readDelays = await startLoopDelayReading(kubelet);
    using writes = countCheckpointWrites(kubelet);
    const beganMs = monotonicMs();
    const resizes = names.map((name) => pods.request(name, '4m'));
    const [seenBesideMs] = await Promise.all([start(starters.beside), ...resizes]);
    await pods.untilAllDone(names, '4m');
    const doneMs = monotonicMs() - beganMs;
    const delays = await readDelays();
    const taken = calls.take();
    const durations = taken.flatMap(({ call, startMs, endMs }) => (call === updateCall ? [endMs - startMs] : []));
    const startMs = { alone, beside: sandboxStart(taken) - seenBesideMs };
    return { doneMs, delays, checkpointWrites: writes.most(), startMs, callMs: percentile(durations, 50) };
  } catch (err) {
    throw kubelet.withLog(err);
  } finally {
    await pods.close();
    await pods.remove(...names, ...Object.values(starters));
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
