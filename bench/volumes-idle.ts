/** Measures what 500 CSI volumes of 250 pods that do nothing cost each kubelet: CPU, memory and requests, beside the same pods with emptyDirs. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeletProgram } from '../lab/kubelet/kubelet-program.ts';
import type { BenchContext, Benchmark, Measurement } from './harness/benchmark.ts';
import { BenchCluster } from './harness/cluster.ts';
import type { Both } from './harness/comparison.ts';
import { BenchCsiDriver, createClaims, createCsiDrivers, driverNames } from './harness/csi-drivers.ts';
import { CsiNodeWatch } from './harness/csi-node-watch.ts';
import { ensureGoKubelet } from './harness/go-kubelet.ts';
import { whileScraped } from './harness/idle-pods.ts';
import { readIdleUsage, type IdleUsage } from './harness/idle-usage.ts';
import { isSmallest, podsOfFullNode } from './harness/sizes.ts';
import { fillNode } from './harness/volume-node.ts';

const pods = podsOfFullNode(250);
const volumesPerPod = 2;
const volumes = pods * volumesPerPod;
/** Waits for the work that follows the starts: garbage collection, the first samples. */
const settleMs = isSmallest ? 2000 : 40_000;
/** Each pod is synced again in this time, and each volume is measured. */
const [windows, windowMs] = isSmallest ? [2, 2000] : [8, 15_000];
const goals = { cpuShare: 0.5, addedMB: 25 };
/** The audit log has a request shortly after its response. */
const auditMs = 1000;

interface Idle extends IdleUsage {
  /** GETs of claims, their volumes and CSIDrivers. */
  readonly gets: number;
}

export const benchmark: Benchmark = {
  name: 'volumes-idle',
  about: `${pods} pods of a real API server with one container and ${volumesPerPod} volumes run on containerd and nothing changes, while /metrics/resource is read each 15 s and the other pages of metrics each 30 s; first the volumes are emptyDirs, then CSI volumes, which the driver measures. Both kubelets run the same pods, one after the other. None of the volumes can change: nothing republishes or expands them.`,
  needs: 'root',
  async run(context) {
    const cluster = await BenchCluster.start(context);
    await createCsiDrivers(cluster);
    await createClaims(cluster, driverNames.plain, claims.flat());
    const program = await ensureGoKubelet(context.progress);
    const empty = { own: await measure(context, cluster, 'own', 'empty'), peer: await measure(context, cluster, 'peer', 'empty', program) };
    const csi = { own: await measure(context, cluster, 'own', 'csi'), peer: await measure(context, cluster, 'peer', 'csi', program) };
    return {
      repeats: `${(windows * windowMs) / 1000} s (for memory the median of ${windows} windows), ${settleMs / 1000} s after the last start`,
      measurements: rowsOf(empty, csi),
    };
  },
};

const claims = Array.from({ length: pods }, (_, pod) => Array.from({ length: volumesPerPod }, (_, index) => `claim-${pod}-${index}`));

function rowsOf(empty: Both<Idle>, csi: Both<Idle>): Measurement[] {
  const row = (what: string, unit: string, value: (which: 'own' | 'peer') => number) => ({
    what,
    unit,
    value: value('own'),
    peer: value('peer'),
  });
  const cores = row(`CPU that ${volumes} CSI volumes add`, 'cores', (which) => csi[which].meanCores - empty[which].meanCores);
  const memory = row(`resident memory that ${volumes} CSI volumes add`, 'MB', (which) => csi[which].rssMB - empty[which].rssMB);
  const gets = row(`GETs of claims, volumes and CSIDrivers in ${(windows * windowMs) / 1000} s`, '', (which) => csi[which].gets);
  return [
    row(`CPU, ${pods} pods with emptyDirs`, 'cores', (which) => empty[which].meanCores),
    row(`CPU, ${pods} pods with CSI volumes`, 'cores', (which) => csi[which].meanCores),
    { ...cores, goal: { text: "half of what the Go kubelet's adds", met: cores.value <= Math.max(0, cores.peer) * goals.cpuShare } },
    row(`resident memory, ${pods} pods with emptyDirs`, 'MB', (which) => empty[which].rssMB),
    row(`resident memory, ${pods} pods with CSI volumes`, 'MB', (which) => csi[which].rssMB),
    { ...memory, goal: { text: `${goals.addedMB} MB`, met: memory.value <= goals.addedMB } },
    { ...gets, goal: { text: '0', met: gets.value === 0 } },
  ];
}

async function measure(
  context: BenchContext,
  cluster: BenchCluster,
  name: string,
  kind: 'empty' | 'csi',
  program?: KubeletProgram,
): Promise<Idle> {
  const kubelet = await cluster.join({ maxPods: pods + 10, program });
  const driver = new BenchCsiDriver(context, kubelet.rootFolder, driverNames.plain);
  const csiNode = await CsiNodeWatch.start(cluster);
  try {
    if (kind === 'csi') await csiNode.register(driver);
    const node = await fillNode(context, cluster, `${name}-${kind}`, kind === 'csi' ? claims : claims.map(() => volumesPerPod));
    const idle = await whileScraped(kubelet, async () => {
      await sleep(settleMs);
      const sinceMs = Date.now();
      const usage = await readIdleUsage(kubelet.pid, { windows, windowMs });
      await sleep(auditMs);
      return { ...usage, gets: cluster.volumeGets(sinceMs).length };
    });
    context.progress(`${name}, ${kind}: ${idle.meanCores.toFixed(3)} cores, ${Math.round(idle.rssMB)} MB, ${idle.gets} GETs`);
    await node.empty();
    return idle;
  } catch (err) {
    throw kubelet.withLog(err);
  } finally {
    await csiNode.close();
    await driver.stop();
    await kubelet.stop(() => cluster.driver.removeAll());
  }
}
