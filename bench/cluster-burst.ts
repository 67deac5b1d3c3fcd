/** Measures a burst of a hundred pods on a real API server: the time compared with the bare driver's, and the requests per pod. */
import { setTimeout as sleep } from 'node:timers/promises';
import { monotonicMs } from '../src/shared/time/clock.ts';
import { BareNode } from './driver/bare-node.ts';
import type { Benchmark, BenchContext } from './harness/benchmark.ts';
import { runBestBareBurst, readStartTimesSince } from './harness/bare-bursts.ts';
import { BenchCluster } from './harness/cluster.ts';
import { ensureGoKubelet } from './harness/go-kubelet.ts';
import { hostCpuSeconds } from './harness/host-cpu.ts';
import type { KubeletProgram } from '../lab/kubelet/kubelet-program.ts';
import { startLoopDelayReading, loopDelayMeasurements, sumDelays, type LoopDelays } from './harness/loop-delay.ts';
import { readProcessUsage } from './harness/process-usage.ts';
import { percentile } from './harness/statistics.ts';

const pods = 100;
const parallelisms = [4, 8, 16];
const rounds = 2;
/** Goals: factor of the bare driver's best time, time of the first pod, requests per pod. */
const shareGoal = 1.1;
const firstGoalMs = 1000;
const patchesGoal = 2;
const timeoutMs = 180_000;
/** Waits for the last statuses and the last lines of the audit log. */
const settleMs = 3000;

interface Burst {
  /** From the first request until a watch saw each pod Running, ms, ascending. */
  readonly running: readonly number[];
  /** From the first request until each container started, by the runtime's timestamps. */
  readonly started: readonly number[];
  /** From the first delete request until a watch saw the last pod gone. */
  readonly goneMs: number;
  /** From the first request until the API server has answered the last create request. */
  readonly createdMs: number;
  readonly patches: number;
  readonly gets: number;
  /** CPU time of the kubelet and its children until all pods are ready. */
  readonly cpuSeconds: number;
  /** CPU time of the whole host until all pods run. */
  readonly hostCpuSeconds: number;
  readonly delays: LoopDelays;
}

export const benchmark: Benchmark = {
  name: 'cluster-burst',
  about: `${pods} pods of a real API server created at once, with the default token volume, on containerd: the first request → a watch sees the last one Running. The floor is the bare driver, which starts the same pods without an API server, at its fastest parallelism, measured by the containers' start times. A bare node, which uses the API server, is measured too.`,
  needs: 'root',
  async run(context) {
    const cluster = await BenchCluster.start(context);
    const best = await runBestBareBurst(context, cluster.driver, pods, parallelisms);
    const bareNode = await bareNodeBurst(context, cluster, best.parallelism);
    const peer = await ensureGoKubelet(context.progress);
    const [own, peers]: [Burst[], Burst[]] = [[], []];
    // Rounds alternate, so that other load on the machine affects both kubelets.
    for (let round = 1; round <= rounds; round += 1) {
      own.push(await kubeletBurst(context, cluster, `burst-${round}`));
      peers.push(await kubeletBurst(context, cluster, `peer-${round}`, peer));
    }
    const of = (what: (burst: Burst) => number, pick = (values: number[]) => percentile(values, 50)) => ({
      value: pick(own.map(what)),
      peer: pick(peers.map(what)),
    });
    const worst = (values: number[]) => Math.max(...values);
    const last = of(({ running }) => running.at(-1)! / 1000);
    const first = of(({ running }) => running[0]! / 1000);
    const patches = of((burst) => burst.patches / pods, worst);
    const gets = of((burst) => burst.gets / pods, worst);
    const bare = `bare, ${best.parallelism} at a time`;
    return {
      repeats: `${rounds} bursts, each with a new kubelet process (the better value is shown, for requests the worse one), alternating with the Go kubelet's; one burst per parallelism of the driver (${parallelisms.join(', ')})`,
      measurements: [
        {
          what: `all ${pods} pods Running`,
          ...last,
          unit: 's',
          floor: { what: bare, value: best.lastMs / 1000 },
          goal: { text: 'floor + 10 %', met: last.value * 1000 <= best.lastMs * shareGoal },
        },
        {
          what: 'the first pod Running',
          ...first,
          unit: 's',
          floor: { what: bare, value: best.firstMs / 1000 },
          goal: { text: `${firstGoalMs / 1000} s`, met: first.value * 1000 <= firstGoalMs },
        },
        {
          what: `all ${pods} pods Running on a bare node, which requests tokens and writes statuses, ${best.parallelism} at a time`,
          value: bareNode.ms / 1000,
          unit: 's',
        },
        {
          what: `CPU of the whole host until all ${pods} pods are Running`,
          ...of((burst) => burst.hostCpuSeconds),
          unit: 's',
          floor: { what: bare, value: best.cpuSeconds },
        },
        { what: 'CPU of the whole host with a bare node', value: bareNode.cpuSeconds, unit: 's' },
        { what: 'the median pod Running', ...of(({ running }) => percentile(running, 50) / 1000), unit: 's' },
        { what: 'the last container started', ...of(({ started }) => started.at(-1)! / 1000), unit: 's' },
        { what: 'the API server has answered the last create request', ...of(({ createdMs }) => createdMs / 1000), unit: 's' },
        {
          what: 'status PATCHes a pod',
          ...patches,
          unit: '',
          goal: { text: `${patchesGoal}`, met: patches.value <= patchesGoal },
        },
        { what: 'GETs of a pod', ...gets, unit: '', goal: { text: '0', met: gets.value === 0 } },
        { what: 'CPU of the kubelet', ...of(({ cpuSeconds }) => cpuSeconds), unit: 's' },
        { what: `all ${pods} pods deleted at once → gone`, ...of(({ goneMs }) => goneMs / 1000), unit: 's' },
        ...loopDelayMeasurements(sumDelays(own.map(({ delays }) => delays)), {
          load: 'burst',
          floor: { what: 'an idle process beside the bare driver', delays: best.delays },
        }),
      ],
    };
  },
};

async function bareNodeBurst(context: BenchContext, cluster: BenchCluster, parallelism: number) {
  const node = new BareNode(cluster);
  context.onEnd(async () => node.close());
  const names = Array.from({ length: pods }, (_, index) => `bare-node-${index}`);
  const burst = await node.startPods(names, parallelism);
  context.progress(`bare node, ${parallelism} at a time: ${Math.round(burst.ms)} ms`);
  return burst;
}

/** Each burst has a new kubelet process, which must adapt its parallelism to the runtime again. */
async function kubeletBurst(context: BenchContext, cluster: BenchCluster, name: string, program?: KubeletProgram): Promise<Burst> {
  const kubelet = await cluster.join({ program });
  try {
    await sleep(settleMs);
    const readDelays = await startLoopDelayReading(kubelet, program);
    const names = Array.from({ length: pods }, (_, index) => `${name}-${index}`);
    const [cpuBefore, hostCpuBefore] = [readProcessUsage(kubelet.pid).cpuSeconds, hostCpuSeconds()];
    const [began, beganAt] = [monotonicMs(), Date.now()];
    await Promise.all(names.map((name) => cluster.createPod(name)));
    const createdMs = monotonicMs() - began;
    const running = (await cluster.pods.waitUntil('running', names, timeoutMs)).map((ms) => ms - began).sort((a, b) => a - b);
    const hostCpu = hostCpuSeconds() - hostCpuBefore;
    await cluster.pods.waitUntil('ready', names, timeoutMs);
    context.progress(`${name}: ${Math.round(running.at(-1)!)} ms`);
    const cpuSeconds = readProcessUsage(kubelet.pid).cpuSeconds - cpuBefore;
    const delays = await readDelays();
    const started = await readStartTimesSince(cluster.driver, beganAt, pods);
    await sleep(settleMs);
    const requests = cluster.podRequests(beganAt);
    const patches = requests.filter(({ verb, subresource }) => verb === 'patch' && subresource === 'status').length;
    const gets = requests.filter(({ verb, subresource }) => verb === 'get' && subresource === '').length;
    context.progress('deleting the pods …');
    const deleted = monotonicMs();
    await Promise.all(names.map((name) => cluster.deletePod(name)));
    const goneMs = Math.max(...(await cluster.pods.waitUntil('gone', names, timeoutMs))) - deleted;
    return { running, started, goneMs, createdMs, patches, gets, cpuSeconds, hostCpuSeconds: hostCpu, delays };
  } catch (err) {
    throw kubelet.withLog(err);
  } finally {
    await kubelet.stop(() => cluster.driver.removeAll());
  }
}
