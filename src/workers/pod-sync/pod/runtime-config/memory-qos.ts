/** Computes the memory protection and the throttling of a container with the gate MemoryQoS on cgroup v2 (upstream kuberuntime_container_linux.go). Pure. */
import type { PodSyncSettings } from '../../../../shared/contracts/pod-sync/worker-data.ts';
import { memoryHigh, memoryReservation } from '../../../../shared/cgroups/cgroup-values.ts';
import type { ResourceRequirements } from '../../../../shared/kubernetes/api.ts';
import type { QosClass } from '../../../../shared/kubernetes/qos-class.ts';
import { value } from '../../../../shared/kubernetes/quantity.ts';

export interface MemoryQosInput {
  readonly qos: QosClass;
  readonly resources: ResourceRequirements | undefined;
  readonly settings: Pick<PodSyncSettings, 'memoryReservationPolicy' | 'memoryThrottlingFactor'>;
  /** The container has no limit of its own, and the pod has one: the pod's cgroup throttles it. */
  readonly hasPodLimit: boolean;
  /** The node's memory without what is reserved for the system and for Kubernetes. */
  readonly allocatableBytes: number;
}

/** Returns files of cgroup v2. A container is throttled above memory.high, between its request and its limit. */
export function computeMemoryQos({ qos, resources, settings, hasPodLimit, allocatableBytes }: MemoryQosInput): Record<string, string> {
  const requestBytes = value(resources?.requests?.['memory']);
  const limitBytes = value(resources?.limits?.['memory']);
  const isReserved = requestBytes !== 0 && settings.memoryReservationPolicy === 'TieredReservation';
  const unified = isReserved ? memoryReservation(qos, requestBytes) : { 'memory.min': '0', 'memory.low': '0' };
  const isGuaranteed = requestBytes === limitBytes && requestBytes !== 0;
  if (isGuaranteed || hasPodLimit) return unified;
  const upperBytes = limitBytes === 0 ? allocatableBytes : limitBytes;
  return { ...unified, ...memoryHigh(requestBytes, upperBytes, settings.memoryThrottlingFactor) };
}
