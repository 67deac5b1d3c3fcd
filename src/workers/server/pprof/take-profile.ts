/** Profiles the main thread from this thread with V8's profiler. */
import { Session } from 'node:inspector/promises';
import type { HeapProfiler, Profiler } from 'node:inspector';
import { setTimeout as sleep } from 'node:timers/promises';
import { encodeProfile, type StackNode } from './encode-profile.ts';

/** V8's default: one sample per millisecond. */
const cpuPeriodNs = 1_000_000;
/** V8's default for its sampling heap profiler. */
const heapPeriodBytes = 32_768;

/** Takes a CPU profile. Rejects with the signal's reason when the signal aborts first. */
export async function takeCpuProfile(seconds: number, signal: AbortSignal): Promise<Uint8Array> {
  const startedAtMs = Date.now();
  const { profile } = await onMainThread(async (session) => {
    await session.post('Profiler.enable');
    await session.post('Profiler.start');
    await sleep(seconds * 1000, undefined, { signal });
    return session.post('Profiler.stop');
  });
  return encodeProfile(cpuTree(profile), {
    sampleTypes: [
      ['samples', 'count'],
      ['cpu', 'nanoseconds'],
    ],
    periodType: ['cpu', 'nanoseconds'],
    period: cpuPeriodNs,
    startedAtMs,
    // V8's times are in µs.
    durationMs: (profile.endTime - profile.startTime) / 1000,
  });
}

/** Takes a profile of the memory that the main thread allocated during the given time and has not freed. */
export async function takeHeapProfile(seconds: number, signal: AbortSignal): Promise<Uint8Array> {
  const startedAtMs = Date.now();
  const { profile } = await onMainThread(async (session) => {
    await session.post('HeapProfiler.startSampling', { samplingInterval: heapPeriodBytes });
    await sleep(seconds * 1000, undefined, { signal });
    return session.post('HeapProfiler.stopSampling');
  });
  return encodeProfile(heapTree(profile.head), {
    sampleTypes: [['inuse_space', 'bytes']],
    periodType: ['space', 'bytes'],
    period: heapPeriodBytes,
    startedAtMs,
    durationMs: Date.now() - startedAtMs,
  });
}

async function onMainThread<T>(use: (session: Session) => Promise<T>): Promise<T> {
  const session = new Session();
  session.connectToMainThread();
  try {
    return await use(session);
  } finally {
    session.disconnect();
  }
}

/** Attributes each sample and its duration (`timeDeltas`, in µs) to its node. Idle time is left out. */
function cpuTree({ nodes, samples = [], timeDeltas = [] }: Profiler.Profile): StackNode {
  const weights = new Map<number, [count: number, ns: number]>();
  for (const [index, id] of samples.entries()) {
    const [count, ns] = weights.get(id) ?? [0, 0];
    weights.set(id, [count + 1, ns + Math.max(0, timeDeltas[index] ?? 0) * 1000]);
  }
  const treeNodes = new Map<number, StackNode & { children: StackNode[] }>();
  for (const { id, callFrame } of nodes) {
    const isIdle = callFrame.functionName === '(idle)';
    treeNodes.set(id, { frame: callFrame, values: isIdle ? [0, 0] : (weights.get(id) ?? [0, 0]), children: [] });
  }
  for (const { id, children = [] } of nodes) for (const child of children) treeNodes.get(id)!.children.push(treeNodes.get(child)!);
  return treeNodes.get(nodes[0]!.id)!;
}

function heapTree({ callFrame, selfSize, children }: HeapProfiler.SamplingHeapProfileNode): StackNode {
  return { frame: callFrame, values: [selfSize], children: children.map(heapTree) };
}
