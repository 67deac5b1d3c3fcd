/** Metrics of the node's cgroups: first upstream's (pkg/kubelet/metrics/metrics.go), then this kubelet's own about leaks. */
import { counter, gauge } from '../define.ts';

export const memoryQosNodeMemoryMinBytes = gauge(
  'kubelet_memory_qos_node_memory_min_bytes',
  'Total memory in bytes that memory.min protects for Guaranteed pods, with the gate MemoryQoS.',
);
export const memoryQosNodeMemoryLowBytes = gauge(
  'kubelet_memory_qos_node_memory_low_bytes',
  'Total memory in bytes that memory.low protects for Burstable pods, with the gate MemoryQoS.',
);
export const orphanedPodCgroups = counter(
  'kubelet_orphaned_pod_cgroups_total',
  'Number of cgroups of pods that neither the kubelet nor the runtime knew, and that were removed.',
);
