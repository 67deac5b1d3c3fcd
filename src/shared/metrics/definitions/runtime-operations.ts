/** Calls of all threads to the runtime. `countRuntimeOperation` (shared/cri) updates these metrics. */
import { counter, exponentialBuckets, gauge, histogram } from '../define.ts';

const labels = ['operation_type'] as const;

export const runtimeOperations = counter(
  'kubelet_runtime_operations_total',
  'Cumulative number of runtime operations by operation type.',
  labels,
);
export const runtimeOperationsDuration = histogram(
  'kubelet_runtime_operations_duration_seconds',
  'Duration in seconds of runtime operations. Broken down by operation type.',
  labels,
  // Upstream's buckets: 5 ms to 12 minutes.
  exponentialBuckets(0.005, 2.5, 14),
);
export const runtimeOperationsErrors = counter(
  'kubelet_runtime_operations_errors_total',
  'Cumulative number of runtime operation errors by operation type.',
  labels,
);
/** Set when the runtime does not implement the call RuntimeConfig. Upstream requires the call from the version in the label on. */
export const criLosingSupport = gauge(
  'kubelet_cri_losing_support',
  'the Kubernetes version that the currently running CRI implementation will lose support on if not upgraded.',
  ['version'],
);
