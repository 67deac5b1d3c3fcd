/**
 * Measures one pod with one CSI volume at a time on a real API server and containerd: its start without and with attachment, its deletion, how soon the node lists
 * the volume as in use, how soon the driver is called when the volume is attached, and the registration of a driver.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeletProgram } from '../lab/kubelet/kubelet-program.ts';
import { runBareVolumes } from './driver/bare-volumes.ts';
import { RuntimeCalls } from './driver/runtime-calls.ts';
import { AttachController } from './harness/attach-controller.ts';
import type { BenchContext, Benchmark, Measurement } from './harness/benchmark.ts';
import { BenchCluster } from './harness/cluster.ts';
import { compare, within, withinShare, type Both } from './harness/comparison.ts';
import { BenchCsiDriver, createCsiDrivers, driverNames } from './harness/csi-drivers.ts';
import { CsiNodeWatch, type Registration } from './harness/csi-node-watch.ts';
import { ensureGoKubelet } from './harness/go-kubelet.ts';
import { isSmallest } from './harness/sizes.ts';
import type { VolumePodTimes } from './harness/volume-pod-times.ts';
import { runVolumePods } from './harness/volume-pods.ts';

const [rounds, plainRepeats, attachedRepeats, registrations, warmUps] = isSmallest ? [1, 2, 1, 1, 1] : [2, 12, 8, 5, 3];
const bareRepeats = 30;
const goals = { plainMs: 30, attachedMs: 45, inUseMs: 100, stageMs: 50, registrationMs: 100 };
/** After the Node is Ready. */
const settleMs = 1000;

interface Measured {
  /** Without a volume. */
  readonly bare: VolumePodTimes[];
  readonly plain: VolumePodTimes[];
  readonly attached: VolumePodTimes[];
  readonly registrations: Registration[];
}

export const benchmark: Benchmark = {
  name: 'volumes-one',
  about:
    "One pod with one CSI volume of a real API server at a time, on containerd, with a driver that mounts folders. Own overhead: the create request → a watch sees the pod Running, without the calls to the runtime and to the driver, the controller that attaches, and the API server's part of each request, which has a row of its own. The controller attaches when a watch has seen that the node uses the volume. The floor is the same calls to the driver without a kubelet, by the driver's journal.",
  needs: 'root',
  async run(context) {
    const cluster = await BenchCluster.start(context);
    await createCsiDrivers(cluster);
    const bare = await runBareVolumes(context, bareRepeats, 1);
    const program = await ensureGoKubelet(context.progress);
    const both: Both<Measured> = { own: empty(), peer: empty() };
    // Rounds alternate, so that other load on the machine affects both kubelets.
    for (let round = 1; round <= rounds; round += 1) {
      await measure(context, cluster, both.own, `own-${round}`);
      await measure(context, cluster, both.peer, `peer-${round}`, program);
    }
    const floor = (what: string, value: number) => ({ floor: { what, value } });
    return {
      repeats: `${rounds} rounds of ${plainRepeats} pods without a volume, as many without and ${attachedRepeats} with attachment, after ${warmUps}, ${warmUps} and 1 warm-up pods, and of ${registrations} registrations, alternating with the Go kubelet's`,
      measurements: [
        compare('own overhead, without a volume', 'ms', select(both, 'bare'), ({ ownMs }) => ownMs),
        ...startRows('without attachment', select(both, 'plain'), goals.plainMs, bare.startMs),
        ...startRows('with attachment', select(both, 'attached'), goals.attachedMs, bare.startMs),
        ...(['plain', 'attached'] as const).flatMap((kind) => {
          const [suffix, pods] = [kind === 'plain' ? 'without attachment' : 'with attachment', select(both, kind)];
          return [
            {
              ...withinShare(
                compare(`delete → gone, ${suffix}`, 'ms', pods, ({ goneMs }) => goneMs),
                '⅓',
                1 / 3,
              ),
              ...floor('NodeUnpublishVolume, bare', bare.unpublishMs),
            },
            {
              ...compare(`delete → the driver has unstaged the volume, ${suffix}`, 'ms', pods, ({ unstagedMs }) => unstagedMs),
              ...floor('both calls, bare', bare.endMs),
            },
          ];
        }),
        ...attachmentRows(select(both, 'attached')),
        ...registrationRows(select(both, 'registrations')),
      ],
    };
  },
};

const empty = (): Measured => ({ bare: [], plain: [], attached: [], registrations: [] });

function select<Kind extends keyof Measured>({ own, peer }: Both<Measured>, kind: Kind): Both<Measured[Kind]> {
  return { own: own[kind], peer: peer[kind] };
}

function startRows(suffix: string, pods: Both<VolumePodTimes[]>, goalMs: number, bareMs: number): Measurement[] {
  const row = (what: string, unit: string, value: (pod: VolumePodTimes) => number | undefined, percent = 50) =>
    compare(`${what}, ${suffix}`, unit, pods, value, percent);
  return [
    row('create → Running', 'ms', ({ startMs }) => startMs),
    { ...row("the driver's calls", 'ms', ({ driverMs }) => driverMs), floor: { what: 'bare', value: bareMs } },
    row('API round trips', 'ms', ({ apiMs }) => apiMs),
    within(
      row('own overhead', 'ms', ({ ownMs }) => ownMs),
      goalMs,
    ),
    row('own overhead', 'ms', ({ ownMs }) => ownMs, 90),
    row('own overhead with the API round trips', 'ms', ({ ownMs, apiMs }) => ownMs + apiMs),
    row('a watch sees the pod → NodeStageVolume', 'ms', ({ steps }) => steps?.beforeMs),
    row('NodeStageVolume → NodePublishVolume', 'ms', ({ steps }) => steps?.betweenMs),
    row('NodePublishVolume → the first call to the runtime', 'ms', ({ steps }) => steps?.afterMs),
    row('GETs for the volume', '', ({ gets }) => gets),
    row('of them refused: the authorizer does not know the pod yet', '', ({ refusedGets }) => refusedGets, 100),
  ];
}

function attachmentRows(pods: Both<VolumePodTimes[]>): Measurement[] {
  const stage = compare('a watch sees the volume attached → NodeStageVolume', 'ms', pods, ({ attachment }) => attachment?.stageMs);
  const overGet = compare('of it, beside the GET of the VolumeAttachment', 'ms', pods, ({ attachment }) =>
    attachment ? attachment.stageMs - attachment.getMs : undefined,
  );
  const inUse = (percent: number) =>
    compare('a watch sees the pod → its volume is in use', 'ms', pods, ({ attachment }) => attachment?.inUseMs, percent);
  return [stage, within(overGet, goals.stageMs), within(inUse(50), goals.inUseMs), inUse(90)];
}

function registrationRows(all: Both<Registration[]>): Measurement[] {
  const row = (what: string, value: (one: Registration) => number) => compare(what, 'ms', all, value);
  const own = row("of it, beside the driver's calls", ({ totalMs, callsMs }) => totalMs - callsMs);
  return [row("the driver's socket → it is in the CSINode", ({ totalMs }) => totalMs), within(own, goals.registrationMs)];
}

async function measure(
  context: BenchContext,
  cluster: BenchCluster,
  into: Measured,
  name: string,
  program?: KubeletProgram,
): Promise<void> {
  context.progress(`${name} …`);
  const kubelet = await cluster.join({ program });
  const drivers = {
    plain: new BenchCsiDriver(context, kubelet.rootFolder, driverNames.plain),
    attaching: new BenchCsiDriver(context, kubelet.rootFolder, driverNames.attaching),
  };
  const csiNode = await CsiNodeWatch.start(cluster);
  const controller = await AttachController.start(cluster);
  const runtimeCalls = new RuntimeCalls(cluster.containerd.logFile);
  const namesOf = (kind: string, count: number) => Array.from({ length: count }, (_, index) => `${name}-${kind}-${index}`);
  try {
    await sleep(settleMs);
    await csiNode.register(drivers.attaching);
    for (let round = 0; round < registrations; round += 1) {
      into.registrations.push(await csiNode.register(drivers.plain));
      await csiNode.unregister(drivers.plain);
    }
    await csiNode.register(drivers.plain);
    const bare = await runVolumePods({ cluster, runtimeCalls }, namesOf('bare', warmUps + plainRepeats));
    into.bare.push(...bare.slice(warmUps));
    const plain = await runVolumePods({ cluster, runtimeCalls, driver: drivers.plain }, namesOf('plain', warmUps + plainRepeats));
    into.plain.push(...plain.slice(warmUps));
    const host = { cluster, runtimeCalls, driver: drivers.attaching, controller };
    into.attached.push(...(await runVolumePods(host, namesOf('attached', 1 + attachedRepeats))).slice(1));
  } catch (err) {
    throw kubelet.withLog(err);
  } finally {
    runtimeCalls.close();
    await Promise.all([controller.close(), csiNode.close()]);
    for (const driver of Object.values(drivers)) await driver.stop();
    await kubelet.stop(() => cluster.driver.removeAll());
  }
}
