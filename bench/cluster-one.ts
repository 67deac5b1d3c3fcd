/**
 * Measures the start of one pod at a time on a real API server: from the create request until a watch sees the pod Running, with the default
 * token volume. The kubelet's overhead is this time minus the three runtime calls, measured by containerd's log. The overhead includes the
 * API server's share (create request, token, status, watch); so does the floor.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { monotonicMs } from '../src/shared/time/clock.ts';
import { BareNode } from './driver/bare-node.ts';
import { RuntimeCalls, startCalls } from './driver/runtime-calls.ts';
import type { Benchmark, Measurement } from './harness/benchmark.ts';
import { BenchCluster, namespace } from './harness/cluster.ts';
import { ensureGoKubelet } from './harness/go-kubelet.ts';
import { podSeenAtMs } from './harness/kubelet-log.ts';
import type { KubeletProgram } from '../lab/kubelet/kubelet-program.ts';
import type { KubeletProcess } from '../lab/kubelet/kubelet-process.ts';
import { startLoopDelayReading, loopDelayMeasurements, type LoopDelays } from './harness/loop-delay.ts';
import { percentile, unionLengthMs } from './harness/statistics.ts';

const repeats = 30;
/** The first pods run code that V8 has not compiled yet. The very first one is reported separately. */
const warmUps = 5;
const goalsMs = { p50: 30, p99: 40 };
const timeoutMs = 60_000;
/** Waits for the cleanup of the previous pod: removing its sandbox, sending its events. */
const settleMs = 1000;

interface BareStart {
  /** From the create request until a watch saw the pod Running. */
  readonly totalMs: number;
  /** The part of it in the three runtime calls. */
  readonly criMs: number;
}

interface Start extends BareStart {
  /** The parts outside the calls, ms, in chronological order. */
  readonly answeredMs: number;
  /** By this kubelet's log; 0 for the Go kubelet. */
  readonly seenMs: number;
  readonly beforeMs: number;
  readonly betweenMs: number;
  readonly afterMs: number;
}

export const benchmark: Benchmark = {
  name: 'cluster-one',
  about:
    'One pod of a real API server at a time, with the default token volume, on containerd: the create request → a watch sees it Running. Own overhead: this time minus RunPodSandbox, CreateContainer and StartContainer. The floor is a bare node that only makes these calls, one token request and one status patch.',
  needs: 'root',
  async run(context) {
    const cluster = await BenchCluster.start(context);
    const bare = new BareNode(cluster);
    context.onEnd(async () => bare.close());
    const floors: BareStart[] = [];
    const runtimeCalls = new RuntimeCalls(cluster.containerd.logFile);
    context.onEnd(async () => runtimeCalls.close());
    for (let round = -warmUps; round < repeats; round += 1) {
      runtimeCalls.take();
      const totalMs = await bare.startPod(`floor-${round + warmUps}`);
      const criMs = unionLengthMs(runtimeCalls.take().filter(({ call }) => startCalls.has(call)));
      if (round >= 0) floors.push({ totalMs, criMs });
    }
    await cluster.driver.removeAll();

    const peer = await startsOf(cluster, runtimeCalls, 'peer', await ensureGoKubelet(context.progress));
    const { starts, coldMs, delays } = await startsOf(cluster, runtimeCalls, 'one');
    const ofKubelet = (what: (start: Start) => number, percent: number) => percentile(starts.map(what), percent);
    const own = ({ totalMs, criMs }: BareStart) => totalMs - criMs;
    const row = (what: string, value: (start: BareStart) => number, percent: number): Measurement => ({
      what: `${what}, p${percent}`,
      value: ofKubelet(value, percent),
      unit: 'ms',
      peer: percentile(peer.starts.map(value), percent),
      floor: { what: 'a bare node', value: percentile(floors.map(value), percent) },
    });
    const goal = (row: Measurement, ms: number): Measurement => ({ ...row, goal: { text: `${ms} ms`, met: row.value <= ms } });
    const parts: readonly [string, (start: Start) => number][] = [
      ['part of the overhead: the API server answers the create request', ({ answeredMs }) => answeredMs],
      ['part of the overhead: request → seen by the kubelet', ({ seenMs }) => seenMs],
      ['part of the overhead: seen → first call', ({ beforeMs }) => beforeMs],
      ['part of the overhead: between the three calls', ({ betweenMs }) => betweenMs],
      ['part of the overhead: started → a watch sees it Running', ({ afterMs }) => afterMs],
    ];
    return {
      repeats: `${repeats} pods, one after the other, after ${warmUps} warm-up pods; the same number on the bare node and with the Go kubelet before`,
      measurements: [
        row('create → Running', ({ totalMs }) => totalMs, 50),
        row('create → Running', ({ totalMs }) => totalMs, 99),
        row('the three calls', ({ criMs }) => criMs, 50),
        goal(row('own overhead', own, 50), goalsMs.p50),
        goal(row('own overhead', own, 99), goalsMs.p99),
        { what: 'own overhead of the very first pod', value: coldMs, unit: 'ms', peer: peer.coldMs },
        ...parts.map(([what, value]) => ({ what: `${what}, p50`, value: ofKubelet(value, 50), unit: 'ms' })),
        ...loopDelayMeasurements(delays),
      ],
    };
  },
};

interface Starts {
  readonly starts: readonly Start[];
  /** Overhead of the very first pod, ms. */
  readonly coldMs: number;
  readonly delays: LoopDelays;
}

async function startsOf(cluster: BenchCluster, runtimeCalls: RuntimeCalls, name: string, program?: KubeletProgram): Promise<Starts> {
  const kubelet = await cluster.join({ program });
  try {
    await sleep(settleMs);
    const readDelays = await startLoopDelayReading(kubelet, program);
    const all: Start[] = [];
    const seenMs = (pod: string) => (program ? 0 : ownSeenAtMs(kubelet, pod));
    for (let round = 0; round < warmUps + repeats; round += 1) all.push(await startOne(cluster, runtimeCalls, `${name}-${round}`, seenMs));
    const delays = await readDelays();
    const [{ totalMs, criMs }] = all as [Start];
    return { starts: all.slice(warmUps), coldMs: totalMs - criMs, delays };
  } catch (err) {
    throw kubelet.withLog(err);
  } finally {
    await kubelet.stop(() => cluster.driver.removeAll());
  }
}

/** Creates a pod, waits until it is Running, and deletes it. */
async function startOne(
  cluster: BenchCluster,
  runtimeCalls: RuntimeCalls,
  name: string,
  seenAtMs: (pod: string) => number,
): Promise<Start> {
  const { pods } = cluster;
  runtimeCalls.take();
  const began = monotonicMs();
  const offsetMs = began - Date.now();
  await cluster.createPod(name);
  const answered = monotonicMs();
  const [running = NaN] = await pods.waitUntil('running', [name], timeoutMs);
  // The calls have ended and are logged when the kubelet's status is visible.
  const calls = runtimeCalls.take().filter(({ call }) => startCalls.has(call));
  if (calls.length !== startCalls.size)
    throw new Error(`one pod took ${calls.length} starting calls: ${calls.map(({ call }) => call).join(', ')}`);
  const seenAt = seenAtMs(name);
  await cluster.deletePod(name);
  await pods.waitUntil('gone', [name], timeoutMs);
  await sleep(settleMs);
  const firstCall = Math.min(...calls.map(({ startMs }) => startMs));
  const lastCall = Math.max(...calls.map(({ endMs }) => endMs));
  const criMs = unionLengthMs(calls);
  const seen = seenAt + offsetMs;
  return {
    totalMs: running - began,
    criMs,
    answeredMs: answered - began,
    seenMs: seen - began,
    beforeMs: firstCall - seen,
    betweenMs: lastCall - firstCall - criMs,
    afterMs: running - lastCall,
  };
}

/** Returns wall-clock ms. */
function ownSeenAtMs(kubelet: KubeletProcess, pod: string): number {
  const atMs = podSeenAtMs(kubelet.log(), `${namespace}/${pod}`);
  if (atMs === undefined) throw new Error(`the kubelet's log does not say when it saw ${pod}`);
  return atMs;
}
