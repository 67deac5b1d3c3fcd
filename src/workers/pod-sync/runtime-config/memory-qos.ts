/** Computes the memory protection and the throttling of a container with the gate MemoryQoS on cgroup v2 (upstream kuberuntime_container_linux.go). Pure. */
import type { PodSyncSettings } from '../../../shared/contracts/pod-sync/worker-data.ts';
import type { ResourceRequirements } from '../../../shared/kubernetes/api.ts';
import type { QosClass } from '../../../shared/kubernetes/qos-class.ts';
import { value } from '../../../shared/kubernetes/quantity.ts';

/** The page size of amd64, and of arm64 kernels with 4 KiB pages. The kernel rounds memory.high to its own. */
const pageBytes = 4096;

export interface MemoryQosInput {
  readonly qos: QosClass;
  readonly resources: ResourceRequirements | undefined;
  readonly settings: Pick<PodSyncSettings, 'memoryReservationPolicy' | 'memoryThrottlingFactor'>;
  /** The node's memory without what is reserved for the system and for Kubernetes. */
  readonly allocatableBytes: number;
}

/** Returns files of cgroup v2. A container is throttled above memory.high, between its request and its limit. */
export function computeMemoryQos({ qos, resources, settings, allocatableBytes }: MemoryQosInput): Record<string, string> {
  const requestBytes = value(resources?.requests?.['memory']);
  const limitBytes = value(resources?.limits?.['memory']);
  const unified: Record<string, string> = {};
  if (requestBytes !== 0 && settings.memoryReservationPolicy === 'TieredReservation') {
    unified[qos === 'Guaranteed' ? 'memory.min' : 'memory.low'] = String(requestBytes);
  } else {
    Object.assign(unified, { 'memory.min': '0', 'memory.low': '0' });
  }
  if (requestBytes === limitBytes) return unified;
  const upperBytes = limitBytes === 0 ? allocatableBytes : limitBytes;
  if (upperBytes <= 0) return unified;
  const throttledAbove = Math.floor(requestBytes + (upperBytes - requestBytes) * settings.memoryThrottlingFactor);
  const highBytes = Math.trunc(throttledAbove / pageBytes) * pageBytes;
  if (highBytes !== 0 && highBytes > requestBytes) unified['memory.high'] = String(highBytes);
  return unified;
}
