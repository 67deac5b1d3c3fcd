/** Measures a kubelet restart on a full node: time until Ready, status writes, and the start of a pod created meanwhile. */
import { setTimeout as sleep } from 'node:timers/promises';
import { monotonicMs } from '../src/shared/time/clock.ts';
import { IdleLoop } from './driver/idle-loop.ts';
import type { Benchmark, BenchContext } from './harness/benchmark.ts';
import { BenchCluster } from './harness/cluster.ts';
import { ensureGoKubelet } from './harness/go-kubelet.ts';
import type { KubeletProgram } from '../lab/kubelet/kubelet-program.ts';
import type { KubeletProcess } from '../lab/kubelet/kubelet-process.ts';
import { delaysBetween, loopDelayMeasurements, readLoopDelays, sumDelays, type LoopDelays } from './harness/loop-delay.ts';
import { percentile } from './harness/statistics.ts';

const pods = 100;
const rounds = 3;
const goalsMs = { ready: 2000, waiting: 1500 };
const timeoutMs = 180_000;
/** The kubelet compares its statuses with the API server's every 10 s. Writes of this comparison count too. */
const watchedMs = 13_000;
const settleMs = 3000;

interface Restart {
  /** From the start of the process, ms. */
  readonly readyMs: number;
  readonly waitingMs: number;
  /** Status writes for unchanged pods. */
  readonly statusWrites: number;
  /** Delays of main's event loop. With the Go kubelet: of an idle event loop. */
  readonly delays: LoopDelays;
}

export const benchmark: Benchmark = {
  name: 'cluster-restart',
  about: `The kubelet of ${pods} running pods of a real API server is stopped and started again; meanwhile a pod is created and the Node is marked Unknown, as a controller does. Measured from the start of the process until a watch sees the Node Ready and the new pod Running.`,
  needs: 'root',
  async run(context) {
    const cluster = await BenchCluster.start(context);
    const peers = await restartsOf(context, cluster, 'peer', await ensureGoKubelet(context.progress));
    const own = await restartsOf(context, cluster, 'old');
    const of = (what: (one: Restart) => number, pick = (values: number[]) => percentile(values, 50)) => ({
      value: pick(own.map(what)),
      peer: pick(peers.map(what)),
    });
    const ready = of(({ readyMs }) => readyMs / 1000);
    const waiting = of(({ waitingMs }) => waitingMs / 1000);
    const writes = of(
      ({ statusWrites }) => statusWrites,
      (values) => Math.max(...values),
    );
    const within = (seconds: number, goal: number) => ({ text: `${goal / 1000} s`, met: seconds * 1000 <= goal });
    return {
      repeats: `${rounds} restarts (the median is shown, for writes the maximum), the same number with the Go kubelet before`,
      measurements: [
        { what: 'start → Ready', ...ready, unit: 's', goal: within(ready.value, goalsMs.ready) },
        { what: 'start → the pod made meanwhile is Running', ...waiting, unit: 's', goal: within(waiting.value, goalsMs.waiting) },
        {
          what: `status writes for the ${pods} others, in ${watchedMs / 1000} s`,
          ...writes,
          unit: '',
          goal: { text: '0', met: writes.value === 0 },
        },
        ...loopDelayMeasurements(sumDelays(own.map(({ delays }) => delays)), {
          floor: { what: 'an idle process beside the Go kubelet', delays: sumDelays(peers.map(({ delays }) => delays)) },
        }),
      ],
    };
  },
};

/** Fills the node once for all restarts. */
async function restartsOf(context: BenchContext, cluster: BenchCluster, prefix: string, program?: KubeletProgram): Promise<Restart[]> {
  const kubelet = await cluster.join({ maxPods: pods + rounds + 7, program });
  const loop = program && new IdleLoop();
  try {
    context.progress(`starting ${pods} pods …`);
    const names = Array.from({ length: pods }, (_, index) => `${prefix}-${index}`);
    await Promise.all(names.map((name) => cluster.createPod(name)));
    await cluster.pods.waitUntil('ready', names, timeoutMs);
    await sleep(settleMs);
    const restarts: Restart[] = [];
    for (let round = 1; round <= rounds; round += 1)
      restarts.push(await restart(context, cluster, kubelet, `${prefix}-late-${round}`, loop));
    const late = Array.from({ length: rounds }, (_, index) => `${prefix}-late-${index + 1}`);
    await Promise.all([...names, ...late].map((name) => cluster.deletePod(name, { gracePeriodSeconds: 0 })));
    return restarts;
  } catch (err) {
    throw kubelet.withLog(err);
  } finally {
    loop?.close();
    await kubelet.stop(() => cluster.driver.removeAll());
  }
}

async function restart(
  context: BenchContext,
  cluster: BenchCluster,
  kubelet: KubeletProcess,
  late: string,
  loop?: IdleLoop,
): Promise<Restart> {
  await kubelet.terminate();
  await cluster.markUnknown();
  await cluster.createPod(late);
  const ready = await cluster.watchReady();
  try {
    const before = await loop?.read();
    const [began, beganAt] = [monotonicMs(), Date.now()];
    kubelet.restart();
    const [readyAtMs, [runningAtMs = NaN]] = await Promise.all([ready.seen, cluster.pods.waitUntil('running', [late], timeoutMs)]);
    const [readyMs, waitingMs] = [readyAtMs - began, runningAtMs - began];
    context.progress(`${late}: Ready after ${Math.round(readyMs)} ms, the waiting pod Running after ${Math.round(waitingMs)} ms`);
    await kubelet.waitUntilHealthy();
    const delays = delaysBetween(before, loop ? await loop.read() : await readLoopDelays(kubelet));
    await sleep(watchedMs);
    const writes = cluster.podRequests(beganAt).filter(({ verb, name }) => ['patch', 'update'].includes(verb) && name !== late);
    return { readyMs, waitingMs, statusWrites: writes.length, delays };
  } finally {
    await ready.close();
  }
}
