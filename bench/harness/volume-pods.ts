/** Runs one pod after the other, with one CSI volume or without a volume. */
import { setTimeout as sleep } from 'node:timers/promises';
import { monotonicMs } from '../../src/shared/time/clock.ts';
import type { RuntimeCalls } from '../driver/runtime-calls.ts';
import type { AttachController } from './attach-controller.ts';
import { nodeName, type BenchCluster } from './cluster.ts';
import { claimsSpec, createClaims, type BenchCsiDriver } from './csi-drivers.ts';
import { epochToMonotonicMs } from './timestamps.ts';
import { computeVolumePodTimes, type SeenPod, type VolumePodTimes } from './volume-pod-times.ts';

const timeoutMs = 60_000;
/** Between the steps of a pod: what follows a start or a deletion ends. */
const settleMs = 700;
/** The audit log has a request shortly after its response. */
const auditMs = 1000;

export interface VolumePodsHost {
  readonly cluster: BenchCluster;
  readonly runtimeCalls: RuntimeCalls;
  /** Absent: the pods have no volume. */
  readonly driver?: BenchCsiDriver;
  /** Absent: the driver's volumes are not attached. */
  readonly controller?: AttachController;
}

/** @param names of the pods and of their claims */
export async function runVolumePods(host: VolumePodsHost, names: readonly string[]): Promise<VolumePodTimes[]> {
  const volumes = host.driver ? await createClaims(host.cluster, host.driver.options.name, names) : [];
  const sinceMs = Date.now();
  const seen: SeenPod[] = [];
  for (const [index, name] of names.entries()) seen.push(await runPod(host, name, volumes[index]));
  await sleep(auditMs);
  const toMonotonicMs = epochToMonotonicMs();
  const requests = host.cluster
    .requests(sinceMs)
    .map((request) => ({ ...request, startMs: request.startMs + toMonotonicMs, endMs: request.endMs + toMonotonicMs }));
  return seen.map((pod) => computeVolumePodTimes(pod, requests));
}

async function runPod({ cluster, runtimeCalls, driver, controller }: VolumePodsHost, name: string, volume = ''): Promise<SeenPod> {
  const { pods } = cluster;
  await sleep(settleMs);
  runtimeCalls.take();
  const startMs = monotonicMs();
  await cluster.createPod(name, nodeName, driver && claimsSpec([name]));
  const inUseMs = await controller?.untilInUse(volume);
  const attachedMs = await controller?.attach(volume);
  const [endMs = NaN] = await pods.waitUntil('running', [name], timeoutMs);
  const [addedMs = NaN] = await pods.waitUntil('added', [name], timeoutMs);
  // The calls have ended and are logged when the kubelet's status is visible.
  const calls = { runtimeCalls: runtimeCalls.take(), driverCalls: driver?.calls(startMs) ?? [] };
  await sleep(settleMs);
  const deletedMs = monotonicMs();
  await cluster.deletePod(name);
  const [goneMs = NaN] = await pods.waitUntil('gone', [name], timeoutMs);
  const unstagedMs = await driver?.untilUnstaged(1, timeoutMs, startMs);
  await controller?.detach(volume);
  return {
    start: { startMs, endMs },
    addedMs,
    ...calls,
    ...(inUseMs !== undefined && attachedMs !== undefined && { controller: { startMs: inUseMs, endMs: attachedMs } }),
    deletedMs,
    goneMs,
    ...(unstagedMs !== undefined && { unstagedMs }),
  };
}
