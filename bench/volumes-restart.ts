/** Measures the restart of a kubelet whose pods have CSI volumes: time until Ready, calls to the driver; also when it takes over from the Go kubelet. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeletProcess } from '../lab/kubelet/kubelet-process.ts';
import { kubeletPath, type KubeletProgram } from '../lab/kubelet/kubelet-program.ts';
import { monotonicMs } from '../src/shared/time/clock.ts';
import type { BenchContext, Benchmark } from './harness/benchmark.ts';
import { BenchCluster } from './harness/cluster.ts';
import { compare, within } from './harness/comparison.ts';
import { BenchCsiDriver, createClaims, createCsiDrivers, driverNames } from './harness/csi-drivers.ts';
import { CsiNodeWatch } from './harness/csi-node-watch.ts';
import { ensureGoKubelet } from './harness/go-kubelet.ts';
import { isSmallest, podsOfFullNode } from './harness/sizes.ts';
import { fillNode } from './harness/volume-node.ts';
import type { DriverCall } from './harness/volume-pod-times.ts';

const pods = podsOfFullNode(250);
const rounds = isSmallest ? 1 : 3;
const readyGoalS = 1;
/** In this time both kubelets have synced all pods, also those for which they call the driver again. */
const watchedMs = isSmallest ? 5000 : 25_000;
const settleMs = 5000;

interface Restart {
  /** From the start of the process until a watch saw the Node Ready. */
  readonly readyMs: number;
  /** To the driver, for volumes. Statistics do not count, and no volume of this driver is republished. */
  readonly calls: readonly DriverCall[];
}

interface Restarts {
  readonly restarts: readonly Restart[];
  /** By this kubelet, after the Go kubelet. */
  readonly takenOver?: Restart;
}

export const benchmark: Benchmark = {
  name: 'volumes-restart',
  about: `A kubelet with ${pods} running pods of a real API server on containerd, each with a CSI volume, is stopped and started again, while the driver runs; then this kubelet takes over the pods of the Go kubelet. The Node is marked Unknown meanwhile, as a controller does. Calls to the driver are counted until ${watchedMs / 1000} s after the Node was Ready.`,
  needs: 'root',
  async run(context) {
    const cluster = await BenchCluster.start(context);
    await createCsiDrivers(cluster);
    await createClaims(cluster, driverNames.plain, claims);
    const own = await restartsOf(context, cluster, 'own');
    const peer = await restartsOf(context, cluster, 'peer', await ensureGoKubelet(context.progress));
    const both = { own: own.restarts, peer: peer.restarts };
    const takenOver = peer.takenOver!;
    const goal = (value: number, most: number) => ({ goal: { text: `${most}`, met: value <= most } });
    const [stages, publishes] = ['NodeStageVolume', 'NodePublishVolume'].map((method) => mostOfOneVolume(takenOver.calls, method));
    const calls = compare('calls for volumes after the restart', '', both, ({ calls }) => calls.length, 100);
    return {
      repeats: `${rounds} restarts, the same number with the Go kubelet afterwards, and once from the Go kubelet to this one`,
      measurements: [
        within(
          compare('start → Ready', 's', both, ({ readyMs }) => readyMs / 1000),
          readyGoalS,
        ),
        { ...calls, ...goal(calls.value, 0) },
        { what: 'start after the Go kubelet → Ready', value: takenOver.readyMs / 1000, unit: 's' },
        { what: 'calls for volumes after the Go kubelet', value: takenOver.calls.length, unit: '' },
        { what: 'NodeStageVolume calls for one volume after the Go kubelet, at most', value: stages!, unit: '', ...goal(stages!, 1) },
        {
          what: 'NodePublishVolume calls for one volume after the Go kubelet, at most',
          value: publishes!,
          unit: '',
          ...goal(publishes!, 1),
        },
      ],
    };
  },
};

const claims = Array.from({ length: pods }, (_, index) => `claim-${index}`);

function mostOfOneVolume(calls: readonly DriverCall[], method: string): number {
  const counts = Map.groupBy(
    calls.filter((call) => call.method === method),
    ({ volumeID }) => volumeID,
  );
  return Math.max(0, ...counts.values().map(({ length }) => length));
}

async function restartsOf(context: BenchContext, cluster: BenchCluster, name: string, program?: KubeletProgram): Promise<Restarts> {
  const kubelet = await cluster.join({ maxPods: pods + 10, program });
  const driver = new BenchCsiDriver(context, kubelet.rootFolder, driverNames.plain);
  const csiNode = await CsiNodeWatch.start(cluster);
  try {
    await csiNode.register(driver);
    const node = await fillNode(
      context,
      cluster,
      name,
      claims.map((claim) => [claim]),
    );
    await sleep(settleMs);
    const restarts: Restart[] = [];
    for (let round = 1; round <= rounds; round += 1) restarts.push(await restart(context, cluster, kubelet, driver));
    const takenOver = program && (await restart(context, cluster, kubelet, driver, kubeletPath));
    await node.empty();
    return { restarts, ...(takenOver && { takenOver }) };
  } catch (err) {
    throw kubelet.withLog(err);
  } finally {
    await csiNode.close();
    await driver.stop();
    await kubelet.stop(() => cluster.driver.removeAll());
  }
}

async function restart(
  context: BenchContext,
  cluster: BenchCluster,
  kubelet: KubeletProcess,
  driver: BenchCsiDriver,
  executable?: string,
): Promise<Restart> {
  await kubelet.terminate();
  await cluster.markUnknown();
  const ready = await cluster.watchReady();
  try {
    const began = monotonicMs();
    kubelet.restart(executable);
    const readyMs = (await ready.seen) - began;
    await kubelet.waitUntilHealthy();
    await sleep(watchedMs);
    const calls = driver.calls(began).filter(({ volumeID }) => volumeID !== undefined);
    context.progress(`Ready after ${Math.round(readyMs)} ms, ${calls.length} calls for volumes`);
    return { readyMs, calls };
  } finally {
    await ready.close();
  }
}
