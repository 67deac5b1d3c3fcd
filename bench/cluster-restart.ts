/** The kubelet is restarted on a full node: soon Ready, writing nothing, and serving the pod that came meanwhile before all else. */
import { setTimeout as sleep } from 'node:timers/promises';
import { monotonicMs } from '../src/shared/time/clock.ts';
import type { Benchmark, BenchContext } from './harness/benchmark.ts';
import { BenchCluster } from './harness/cluster.ts';
import type { KubeletProcess } from './harness/kubelet-process.ts';
import { delaysBetween, loopDelayMeasurements, readLoopDelays, sumOfDelays, type LoopDelays } from './harness/loop-delay.ts';
import { percentile } from './harness/statistics.ts';

const pods = 100;
const rounds = 3;
const goalsMs = { ready: 2000, waiting: 1500 };
const timeoutMs = 180_000;
/** Statuses are compared with the API server's each 10 s: what that finds to write is a write of the restart. */
const watchedMs = 13_000;
const settleMs = 3000;

interface Restart {
  /** From the start of the process, ms. */
  readonly readyMs: number;
  readonly waitingMs: number;
  /** Of pods that ran on unchanged. */
  readonly statusWrites: number;
  readonly delays: LoopDelays;
}

export const benchmark: Benchmark = {
  name: 'cluster-restart',
  about: `The kubelet of ${pods} running pods of a real API server is ended and started again; meanwhile a pod was made, and the Node marked Unknown as a controller does. From the start of the process until a watch sees the Node Ready and that pod Running.`,
  needs: 'root',
  async run(context) {
    const cluster = await BenchCluster.start(context);
    const kubelet = await cluster.join(cluster.containerd.endpoint, pods + rounds + 7);
    context.after(() => kubelet.stop(() => cluster.driver.removeAll()));
    context.say(`starting ${pods} pods …`);
    const names = Array.from({ length: pods }, (_, index) => `old-${index}`);
    await Promise.all(names.map((name) => cluster.createPod(name)));
    await cluster.pods.until('ready', names, timeoutMs);
    await sleep(settleMs);
    const restarts: Restart[] = [];
    for (let round = 1; round <= rounds; round += 1) restarts.push(await restart(context, cluster, kubelet, round));
    const median = (what: (one: Restart) => number) => percentile(restarts.map(what), 50);
    const readyMs = median((one) => one.readyMs);
    const waitingMs = median((one) => one.waitingMs);
    const statusWrites = Math.max(...restarts.map((one) => one.statusWrites));
    const within = (ms: number, goal: number) => ({ text: `${goal / 1000} s`, met: ms <= goal });
    return {
      repeats: `${rounds} restarts (the median is shown, of writes the most)`,
      measurements: [
        { what: 'start → Ready', value: readyMs / 1000, unit: 's', goal: within(readyMs, goalsMs.ready) },
        {
          what: 'start → the pod made meanwhile is Running',
          value: waitingMs / 1000,
          unit: 's',
          goal: within(waitingMs, goalsMs.waiting),
        },
        {
          what: `status writes for the ${pods} others, in ${watchedMs / 1000} s`,
          value: statusWrites,
          unit: '',
          goal: { text: '0', met: statusWrites === 0 },
        },
        ...loopDelayMeasurements(sumOfDelays(restarts.map(({ delays }) => delays))),
      ],
    };
  },
};

async function restart(context: BenchContext, cluster: BenchCluster, kubelet: KubeletProcess, round: number): Promise<Restart> {
  const late = `late-${round}`;
  await kubelet.end();
  await cluster.markUnknown();
  await cluster.createPod(late);
  const ready = await cluster.watchReady();
  try {
    const [began, beganAt] = [monotonicMs(), Date.now()];
    kubelet.startAgain();
    const [readyAtMs, [runningAtMs = NaN]] = await Promise.all([ready.seen, cluster.pods.until('running', [late], timeoutMs)]);
    const [readyMs, waitingMs] = [readyAtMs - began, runningAtMs - began];
    context.say(`restart ${round}: Ready after ${Math.round(readyMs)} ms, the waiting pod Running after ${Math.round(waitingMs)} ms`);
    await kubelet.healthy();
    const delays = delaysBetween(undefined, await readLoopDelays(kubelet));
    await sleep(watchedMs);
    const writes = cluster.podRequests(beganAt).filter(({ verb, pod }) => ['patch', 'update'].includes(verb) && pod !== late);
    return { readyMs, waitingMs, statusWrites: writes.length, delays };
  } catch (err) {
    throw kubelet.withLog(err);
  } finally {
    await ready.close();
  }
}
