/**
 * One pod of a real API server at a time: from the request that makes it until a watch sees it run, with the default token volume. What
 * the kubelet took of that is the whole less the three calls to the runtime, by containerd's own log: so the API server's share (the request
 * itself, token, status, watch) counts as the kubelet's own. The floor beside it has that share too.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { monotonicMs } from '../src/shared/time/clock.ts';
import { BareNode } from './driver/bare-node.ts';
import { RuntimeCalls, startCalls } from './driver/runtime-calls.ts';
import type { Benchmark, Measurement } from './harness/benchmark.ts';
import { BenchCluster, namespace } from './harness/cluster.ts';
import { ensureGoKubelet } from './harness/go-kubelet.ts';
import { podSeenAtMs } from './harness/kubelet-log.ts';
import type { KubeletProcess, KubeletProgram } from './harness/kubelet-process.ts';
import { startLoopDelayReading, loopDelayMeasurements, type LoopDelays } from './harness/loop-delay.ts';
import { percentile, unionLengthMs } from './harness/statistics.ts';

const repeats = 30;
/** The first pods find code that is not compiled yet; the very first is told for itself. */
const warmUps = 5;
const goalsMs = { p50: 30, p99: 40 };
const timeoutMs = 60_000;
/** What the pod before left to be done: its sandbox removed, its events sent. */
const settleMs = 1000;

interface BareStart {
  /** From the request that makes the pod until a watch saw it run. */
  readonly totalMs: number;
  /** Of that, the three calls to the runtime. */
  readonly criMs: number;
}

interface Start extends BareStart {
  /** What lies between the calls, in ms, in their order. */
  readonly answeredMs: number;
  /** By this kubelet's log; 0 for another. */
  readonly seenMs: number;
  readonly beforeMs: number;
  readonly betweenMs: number;
  readonly afterMs: number;
}

export const benchmark: Benchmark = {
  name: 'cluster-one',
  about:
    'One pod of a real API server at a time, with the default token volume, on containerd: the request that makes it → a watch sees it Running. Own overhead: that, minus RunPodSandbox, CreateContainer and StartContainer. The floor is a bare node that does nothing but those calls, one token request and one status patch.',
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
      ['of it: the API server answers the request that makes it', ({ answeredMs }) => answeredMs],
      ['of it: request → seen by the kubelet', ({ seenMs }) => seenMs],
      ['of it: seen → first call', ({ beforeMs }) => beforeMs],
      ['of it: between the three calls', ({ betweenMs }) => betweenMs],
      ['of it: started → a watch sees it Running', ({ afterMs }) => afterMs],
    ];
    return {
      repeats: `${repeats} pods, one after the other, after ${warmUps} that do not count; as many on the bare node and under the Go kubelet before`,
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
  /** The very first pod's own overhead, ms. */
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

/** Makes a pod and takes it away again. */
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
  // It has answered the kubelet by the time that the kubelet's word is out.
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

/** In wall-clock ms. */
function ownSeenAtMs(kubelet: KubeletProcess, pod: string): number {
  const atMs = podSeenAtMs(kubelet.log(), `${namespace}/${pod}`);
  if (atMs === undefined) throw new Error(`the kubelet's log does not say when it saw ${pod}`);
  return atMs;
}
