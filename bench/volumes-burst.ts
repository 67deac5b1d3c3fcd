/** Measures a burst of fifty pods with two CSI volumes each, which are not attached, on a real API server and containerd. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeletProgram } from '../lab/kubelet/kubelet-program.ts';
import { monotonicMs } from '../src/shared/time/clock.ts';
import { runBareVolumes } from './driver/bare-volumes.ts';
import type { BenchContext, Benchmark } from './harness/benchmark.ts';
import { runBestBareBurst } from './harness/bare-bursts.ts';
import { BenchCluster, nodeName } from './harness/cluster.ts';
import { compare, withinShare } from './harness/comparison.ts';
import { BenchCsiDriver, claimsSpec, createClaims, createCsiDrivers, driverNames } from './harness/csi-drivers.ts';
import { CsiNodeWatch } from './harness/csi-node-watch.ts';
import { ensureGoKubelet } from './harness/go-kubelet.ts';
import { readProcessUsage } from './harness/process-usage.ts';
import { isSmallest } from './harness/sizes.ts';
import { percentile } from './harness/statistics.ts';

const [pods, rounds] = isSmallest ? [3, 1] : [50, 3];
const volumesPerPod = 2;
const volumes = pods * volumesPerPod;
const parallelism = 8;
const shareGoal = 0.7;
const timeoutMs = 180_000;
/** Waits for the last statuses and the last lines of the audit log. */
const settleMs = 3000;

interface Burst {
  /** From the first request until a watch saw each pod Running, ms, ascending. */
  readonly running: readonly number[];
  /** From the first delete request until a watch saw the last pod gone, and until the driver had unstaged the last volume. */
  readonly goneMs: number;
  readonly unstagedMs: number;
  readonly cpuSeconds: number;
  /** Calls to the driver until all pods ran. */
  readonly calls: number;
  /** GETs of claims, their volumes and CSIDrivers. */
  readonly gets: number;
}

export const benchmark: Benchmark = {
  name: 'volumes-burst',
  about: `${pods} pods of a real API server with ${volumesPerPod} CSI volumes each, without attachment, created at once on containerd: the first request → a watch sees the last one Running. The driver makes one call at a time. Its floor is the same calls without a kubelet, ${parallelism} volumes at a time, by its journal; the bare runtime starts the same pods without volumes.`,
  needs: 'root',
  async run(context) {
    const cluster = await BenchCluster.start(context);
    await createCsiDrivers(cluster);
    const bareVolumes = await runBareVolumes(context, volumes, parallelism);
    const barePods = await runBestBareBurst(context, cluster.driver, pods, [parallelism]);
    const program = await ensureGoKubelet(context.progress);
    const both = { own: [] as Burst[], peer: [] as Burst[] };
    // Rounds alternate, so that other load on the machine affects both kubelets.
    for (let round = 1; round <= rounds; round += 1) {
      both.own.push(await burst(context, cluster, `own-${round}`));
      both.peer.push(await burst(context, cluster, `peer-${round}`, program));
    }
    const row = (what: string, unit: string, value: (burst: Burst) => number) => compare(what, unit, both, value);
    const callsFloor = { what: "the driver's calls, bare", value: bareVolumes.allStartedMs / 1000 };
    return {
      repeats: `${rounds} bursts, each with a new kubelet process, alternating with the Go kubelet's`,
      measurements: [
        {
          ...withinShare(
            row(`all ${pods} pods Running`, 's', ({ running }) => running.at(-1)! / 1000),
            '0.7',
            shareGoal,
          ),
          floor: callsFloor,
        },
        { what: `the last of ${pods} containers without volumes started by the bare runtime`, value: barePods.lastMs / 1000, unit: 's' },
        row('the first pod Running', 's', ({ running }) => running[0]! / 1000),
        row('the median pod Running', 's', ({ running }) => percentile(running, 50) / 1000),
        row('CPU of the kubelet', 's', ({ cpuSeconds }) => cpuSeconds),
        row('calls to the driver for a volume', '', ({ calls }) => calls / volumes),
        row('GETs for a volume', '', ({ gets }) => gets / volumes),
        row(`all ${pods} pods deleted at once → gone`, 's', ({ goneMs }) => goneMs / 1000),
        row('deleted at once → the driver has unstaged the last volume', 's', ({ unstagedMs }) => unstagedMs / 1000),
      ],
    };
  },
};

/** Each burst has a new kubelet process, and claims of its own. */
async function burst(context: BenchContext, cluster: BenchCluster, name: string, program?: KubeletProgram): Promise<Burst> {
  const kubelet = await cluster.join({ program });
  const driver = new BenchCsiDriver(context, kubelet.rootFolder, driverNames.plain);
  const csiNode = await CsiNodeWatch.start(cluster);
  const names = Array.from({ length: pods }, (_, index) => `${name}-${index}`);
  const claimsOf = (pod: string) => Array.from({ length: volumesPerPod }, (_, index) => `${pod}-${index}`);
  try {
    await csiNode.register(driver);
    await createClaims(cluster, driverNames.plain, names.flatMap(claimsOf));
    await sleep(settleMs);
    const cpuBefore = readProcessUsage(kubelet.pid).cpuSeconds;
    const [began, beganAt] = [monotonicMs(), Date.now()];
    await Promise.all(names.map((pod) => cluster.createPod(pod, nodeName, claimsSpec(claimsOf(pod)))));
    const running = (await cluster.pods.waitUntil('running', names, timeoutMs)).map((ms) => ms - began).sort((a, b) => a - b);
    const cpuSeconds = readProcessUsage(kubelet.pid).cpuSeconds - cpuBefore;
    context.progress(`${name}: ${Math.round(running.at(-1)!)} ms`);
    const calls = driver.calls(began).length;
    await sleep(settleMs);
    const gets = cluster.volumeGets(beganAt).length;
    context.progress('deleting the pods …');
    const deleted = monotonicMs();
    await Promise.all(names.map((pod) => cluster.deletePod(pod)));
    const goneMs = Math.max(...(await cluster.pods.waitUntil('gone', names, timeoutMs))) - deleted;
    const unstaged = await driver.untilUnstaged(volumes, timeoutMs);
    return { running, goneMs, unstagedMs: unstaged - deleted, cpuSeconds, calls, gets };
  } catch (err) {
    throw kubelet.withLog(err);
  } finally {
    await csiNode.close();
    await driver.stop();
    await kubelet.stop(() => cluster.driver.removeAll());
  }
}
