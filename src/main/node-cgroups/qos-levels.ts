/**
 * Computes the values of the cgroups `kubepods`, `burstable` and `besteffort` from the pods of the node (upstream
 * pkg/kubelet/cm/qos_container_manager_linux.go). Pure.
 */
import type { AllocatedPod } from '../allocation/index.ts';
import { podRequests } from '../../shared/kubernetes/pod-resources.ts';
import { qosClass, type QosClass } from '../../shared/kubernetes/qos-class.ts';
import { milliValue, value } from '../../shared/kubernetes/quantity.ts';
import { sharesFromMilliCPU, type CgroupResources } from '../../shared/cgroups/cgroup-values.ts';
import { fixedQosResources } from '../../shared/cgroups/qos-cgroups.ts';

/** What a pod adds to the cgroup of its class. */
export interface PodRequests {
  readonly qos: QosClass;
  readonly milliCPU: number;
  readonly memoryBytes: number;
}

export interface QosLevelSettings {
  /** The page sizes of the host, such as `2MB`. No class limits huge pages. */
  readonly hugePageSizes: readonly string[];
  /** Gate MemoryQoS on cgroup v2, with memoryReservationPolicy TieredReservation: the levels protect the requested memory. */
  readonly reservesMemory: boolean;
  /** qosReserved, with its gate: the percentage of the requests of better classes that a class may not use. */
  readonly reservedMemoryPercent?: number;
  /** The node's memory without what is reserved. 0: not known. */
  readonly allocatableMemoryBytes: number;
}

/** The values that belong to the levels. Those of `Guaranteed` belong to the cgroup of all pods. */
export type QosLevels = Readonly<Record<QosClass, CgroupResources>>;

/** @param podLevelResources gate PodLevelResources */
export function toPodRequests(pod: AllocatedPod, podLevelResources: boolean): PodRequests {
  const requests = podRequests(pod, { skipPodLevel: !podLevelResources });
  return { qos: qosClass(pod), milliCPU: milliValue(requests['cpu']), memoryBytes: value(requests['memory']) };
}

export function computeQosLevels(pods: Iterable<PodRequests>, settings: QosLevelSettings): QosLevels {
  let burstableMilliCPU = 0;
  const memory = { Guaranteed: 0, Burstable: 0, BestEffort: 0 };
  for (const { qos, milliCPU, memoryBytes } of pods) {
    if (qos === 'Burstable') burstableMilliCPU += milliCPU;
    memory[qos] += memoryBytes;
  }
  const fixed = fixedQosResources(settings.hugePageSizes);
  const protectedBytes = memoryProtection(memory, settings);
  const limits = memoryLimits(memory, settings);
  return {
    Guaranteed: { ...fixed.Guaranteed, ...protectedBytes.Guaranteed },
    Burstable: { ...fixed.Burstable, cpuShares: sharesFromMilliCPU(burstableMilliCPU), ...limits.Burstable, ...protectedBytes.Burstable },
    BestEffort: { ...fixed.BestEffort, ...limits.BestEffort },
  };
}

type MemoryRequests = Readonly<Record<'Guaranteed' | 'Burstable', number>>;

/** A level covers the protection of the pods below it, or theirs has no effect. */
function memoryProtection({ Guaranteed, Burstable }: MemoryRequests, { reservesMemory }: QosLevelSettings) {
  if (!reservesMemory) return {};
  const low = { 'memory.low': String(Burstable) };
  return { Guaranteed: { unified: { 'memory.min': String(Guaranteed + Burstable), ...low } }, Burstable: { unified: low } };
}

/** The values that remove the protection of memory that a kubelet with other settings may have left. Without TieredReservation they are written once. */
export const withoutProtection = {
  Guaranteed: { unified: { 'memory.min': '0', 'memory.low': '0' } },
  Burstable: { unified: { 'memory.low': '0' } },
} as const;

function memoryLimits({ Guaranteed, Burstable }: MemoryRequests, { reservedMemoryPercent, allocatableMemoryBytes }: QosLevelSettings) {
  if (reservedMemoryPercent === undefined || allocatableMemoryBytes === 0) return {};
  const reserved = (bytes: number) => Math.trunc((bytes * reservedMemoryPercent) / 100);
  const burstableBytes = allocatableMemoryBytes - reserved(Guaranteed);
  return { Burstable: { memoryBytes: burstableBytes }, BestEffort: { memoryBytes: burstableBytes - reserved(Burstable) } };
}
