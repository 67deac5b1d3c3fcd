/** A hundred pods of a real API server at once: as soon as the bare driver could, with few requests for each of them. */
import { setTimeout as sleep } from 'node:timers/promises';
import { monotonicMs } from '../src/shared/time/clock.ts';
import type { Benchmark, BenchContext } from './harness/benchmark.ts';
import { bestBareBurst, startsSince } from './harness/bare-bursts.ts';
import { BenchCluster } from './harness/cluster.ts';
import { delaysBetween, loopDelayMeasurements, readLoopDelays, sumOfDelays, type LoopDelays } from './harness/loop-delay.ts';
import { percentile } from './harness/statistics.ts';

const pods = 100;
const parallelisms = [4, 8, 16];
const rounds = 2;
/** Goals: this much of the bare driver's best time; the first pod, in ms; requests for each pod. */
const shareGoal = 1.1;
const firstGoalMs = 1000;
const patchesGoal = 2;
const timeoutMs = 180_000;
/** For the last statuses and the audit log's last lines. */
const settleMs = 3000;

interface Burst {
  /** From the first request until a watch saw each run, ms, ascending. */
  readonly running: readonly number[];
  /** The same until its container started, as the runtime says. */
  readonly started: readonly number[];
  /** From the first request that deletes until a watch saw the last gone. */
  readonly goneMs: number;
  /** Until the API server had answered the last request that makes one. */
  readonly madeMs: number;
  readonly patches: number;
  readonly gets: number;
  readonly delays: LoopDelays;
}

export const benchmark: Benchmark = {
  name: 'cluster-burst',
  about: `${pods} pods of a real API server made at once, with the default token volume, on containerd: the first request → a watch sees the last Running. The floor is the bare driver at the parallelism at which it is fastest, by its containers' own start times, without an API server.`,
  needs: 'root',
  async run(context) {
    const cluster = await BenchCluster.start(context);
    const best = await bestBareBurst(context, cluster.driver, pods, parallelisms);
    const bursts: Burst[] = [];
    for (let round = 1; round <= rounds; round += 1) {
      const burst = await kubeletBurst(context, cluster, round);
      context.say(`kubelet, round ${round}: ${Math.round(burst.running.at(-1)!)} ms`);
      bursts.push(burst);
    }
    const median = (what: (burst: Burst) => number) => percentile(bursts.map(what), 50);
    const worst = (what: (burst: Burst) => number) => Math.max(...bursts.map(what));
    const last = median(({ running }) => running.at(-1)!);
    const first = median(({ running }) => running[0]!);
    const patches = worst((burst) => burst.patches) / pods;
    const gets = worst((burst) => burst.gets) / pods;
    const bare = `bare, ${best.parallelism} at a time`;
    return {
      repeats: `${rounds} bursts, each of a kubelet of its own (the better one is shown, of requests the worse), one for each parallelism of the driver (${parallelisms.join(', ')})`,
      measurements: [
        {
          what: `all ${pods} pods Running`,
          value: last / 1000,
          unit: 's',
          floor: { what: bare, value: best.lastMs / 1000 },
          goal: { text: 'floor + 10 %', met: last <= best.lastMs * shareGoal },
        },
        {
          what: 'the first pod Running',
          value: first / 1000,
          unit: 's',
          floor: { what: bare, value: best.firstMs / 1000 },
          goal: { text: `${firstGoalMs / 1000} s`, met: first <= firstGoalMs },
        },
        { what: 'the median pod Running', value: median(({ running }) => percentile(running, 50)) / 1000, unit: 's' },
        { what: 'the last container started', value: median(({ started }) => started.at(-1)!) / 1000, unit: 's' },
        { what: 'the API server has answered the last request that makes one', value: median(({ madeMs }) => madeMs) / 1000, unit: 's' },
        {
          what: 'status PATCHes a pod',
          value: patches,
          unit: '',
          goal: { text: `${patchesGoal}`, met: patches <= patchesGoal },
        },
        { what: 'GETs of a pod', value: gets, unit: '', goal: { text: '0', met: gets === 0 } },
        { what: `all ${pods} pods deleted at once → gone`, value: median(({ goneMs }) => goneMs) / 1000, unit: 's' },
        ...loopDelayMeasurements(sumOfDelays(bursts.map(({ delays }) => delays))),
      ],
    };
  },
};

/** A kubelet of its own for each burst: what it learned of the runtime in one must be learned again in the next. */
async function kubeletBurst(context: BenchContext, cluster: BenchCluster, round: number): Promise<Burst> {
  const kubelet = await cluster.join(cluster.containerd.endpoint);
  try {
    await sleep(settleMs);
    const delaysBefore = await readLoopDelays(kubelet);
    const names = Array.from({ length: pods }, (_, index) => `burst-${round}-${index}`);
    const [began, beganAt] = [monotonicMs(), Date.now()];
    await Promise.all(names.map((name) => cluster.createPod(name)));
    const madeMs = monotonicMs() - began;
    const running = (await cluster.pods.until('running', names, timeoutMs)).map((ms) => ms - began).sort((a, b) => a - b);
    await cluster.pods.until('ready', names, timeoutMs);
    const delays = delaysBetween(delaysBefore, await readLoopDelays(kubelet));
    const started = await startsSince(cluster.driver, beganAt, pods);
    await sleep(settleMs);
    const requests = cluster.podRequests(beganAt);
    const patches = requests.filter(({ verb, subresource }) => verb === 'patch' && subresource === 'status').length;
    const gets = requests.filter(({ verb, subresource }) => verb === 'get' && subresource === '').length;
    context.say('deleting the pods …');
    const deleted = monotonicMs();
    await Promise.all(names.map((name) => cluster.deletePod(name)));
    const goneMs = Math.max(...(await cluster.pods.until('gone', names, timeoutMs))) - deleted;
    return { running, started, goneMs, madeMs, patches, gets, delays };
  } catch (err) {
    throw kubelet.withLog(err);
  } finally {
    await kubelet.stop(() => cluster.driver.removeAll());
  }
}
