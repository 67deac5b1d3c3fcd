/** Says where the time of a pod with one CSI volume, or without a volume, went. Pure. All times are monotonic ms. */
import { isVolumeGet, type NodeRequest } from './node-requests.ts';
import { computeTimeShares, unionLengthMs, type Interval } from './statistics.ts';

/** A call as the driver has seen it. */
export interface DriverCall extends Interval {
  readonly method: string;
  /** Absent: the call is about the driver. */
  readonly volumeID?: string;
  /** The gRPC code; 0 is success. */
  readonly code: number;
}

/** What was seen of a pod. */
export interface SeenPod {
  /** From the create request until a watch saw the pod Running. */
  readonly start: Interval;
  /** When a watch saw the pod. */
  readonly addedMs: number;
  readonly runtimeCalls: readonly Interval[];
  readonly driverCalls: readonly DriverCall[];
  /** From the moment when a watch saw that the node uses the volume until it saw the volume attached. Absent: the volume is not attached. */
  readonly controller?: Interval;
  readonly deletedMs: number;
  readonly goneMs: number;
  /** Absent: the pod has no volume. */
  readonly unstagedMs?: number;
}

/** Durations. */
export interface VolumePodTimes {
  readonly startMs: number;
  /** The driver's calls in this time. */
  readonly driverMs: number;
  /** Requests to the API server, the one that creates the pod included, where they are beside no call and no controller. */
  readonly apiMs: number;
  /** What is left of the time, without the calls to the runtime and the driver, the controller and the requests. */
  readonly ownMs: number;
  /** The GETs of objects of the volume, the refused ones included. */
  readonly gets: number;
  readonly refusedGets: number;
  /** From the delete request until a watch saw the pod gone, and until the driver had unstaged the volume. */
  readonly goneMs: number;
  readonly unstagedMs?: number;
  /** Absent: the pod has no volume. */
  readonly steps?: {
    /** From the moment when a watch saw the pod until the driver was called to stage the volume. */
    readonly beforeMs: number;
    /** From the end of this call until the driver was called to publish the volume. */
    readonly betweenMs: number;
    /** From the end of that call until the runtime was called. */
    readonly afterMs: number;
  };
  /** Absent: the volume is not attached. */
  readonly attachment?: {
    /** From the moment when a watch saw the pod until it saw that the node uses the volume. */
    readonly inUseMs: number;
    /** From the moment when a watch saw the volume attached until the driver was called, and how long the GET of the VolumeAttachment took meanwhile. */
    readonly stageMs: number;
    readonly getMs: number;
  };
}

/** Are not made for a pod. */
const otherResources: ReadonlySet<string> = new Set(['leases', 'events']);

/** @param requests of the node, on the same clock */
export function computeVolumePodTimes(pod: SeenPod, requests: readonly NodeRequest[]): VolumePodTimes {
  const { start, addedMs, runtimeCalls, driverCalls, controller, deletedMs } = pod;
  const meanwhile = requests.filter(
    ({ resource, startMs, endMs }) => !otherResources.has(resource) && endMs > start.startMs && startMs < start.endMs,
  );
  const create = { startMs: start.startMs, endMs: addedMs };
  const groups = { calls: [...runtimeCalls, ...driverCalls], controller: controller ? [controller] : [], api: [create, ...meanwhile] };
  const { groupsMs, restMs } = computeTimeShares(start, [groups.calls, groups.controller, groups.api]);
  const gets = meanwhile.filter(isVolumeGet);
  return {
    startMs: start.endMs - start.startMs,
    driverMs: computeTimeShares(start, [driverCalls]).groupsMs[0]!,
    apiMs: groupsMs[2]!,
    ownMs: restMs,
    gets: gets.length,
    refusedGets: gets.filter(({ code }) => code >= 400).length,
    goneMs: pod.goneMs - deletedMs,
    ...(pod.unstagedMs !== undefined && { unstagedMs: pod.unstagedMs - deletedMs, steps: stepsOf(pod) }),
    ...(controller && { attachment: attachmentTimes(pod, controller, gets) }),
  };
}

function callOf({ driverCalls }: SeenPod, method: string): DriverCall {
  const call = driverCalls.find((one) => one.method === method);
  if (!call) throw new Error(`the driver has got no ${method}`);
  return call;
}

function stepsOf(pod: SeenPod) {
  const [stage, publish] = [callOf(pod, 'NodeStageVolume'), callOf(pod, 'NodePublishVolume')];
  const runtimeMs = Math.min(...pod.runtimeCalls.map(({ startMs }) => startMs));
  return {
    beforeMs: stage.startMs - pod.addedMs,
    betweenMs: publish.startMs - stage.endMs,
    afterMs: runtimeMs - publish.endMs,
  };
}

function attachmentTimes(pod: SeenPod, controller: Interval, gets: readonly NodeRequest[]) {
  const { addedMs } = pod;
  const stage = callOf(pod, 'NodeStageVolume');
  const between = gets.filter(({ resource, startMs }) => resource === 'volumeattachments' && startMs < stage.startMs);
  return { inUseMs: controller.startMs - addedMs, stageMs: stage.startMs - controller.endMs, getMs: unionLengthMs(between) };
}
