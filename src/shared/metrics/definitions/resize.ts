/** Metrics of in-place resizes. Upstream: pkg/kubelet/metrics/metrics.go. */
import { counter, gauge, histogram } from '../define.ts';

export const requestedResizes = counter(
  'kubelet_container_requested_resizes_total',
  "Number of requested resizes, counted at the container level. Different resources on the same container are counted separately. The 'requirement' label refers to 'memory' or 'limits'; the 'operation' label can be one of 'add', 'remove', 'increase' or 'decrease'.",
  ['resource', 'requirement', 'operation'],
);
export const resizeDuration = histogram(
  'kubelet_pod_resize_duration_milliseconds',
  'Duration in milliseconds to actuate a pod resize',
  ['success'],
  [10, 50, 100, 500, 1000, 2000, 5000, 10_000, 20_000, 30_000, 60_000, 120_000, 300_000, 600_000],
);
export const pendingResizes = gauge('kubelet_pod_pending_resizes', 'Number of pending resizes for pods.', ['reason', 'priority_bucket']);
export const infeasibleResizes = counter('kubelet_pod_infeasible_resizes_total', 'Number of infeasible resizes for pods, by reason.', [
  'reason_detail',
]);
export const inProgressResizes = gauge('kubelet_pod_in_progress_resizes', 'Number of in-progress resizes for pods.');
export const deferredAcceptedResizes = counter(
  'kubelet_pod_deferred_accepted_resizes_total',
  'Cumulative number of resizes that were accepted after being deferred.',
  ['retry_trigger'],
);
export const deferredResizeDuration = histogram(
  'kubelet_pod_deferred_resize_duration_seconds',
  'Duration in seconds that a pod resize remains deferred before completion, by how it was resolved (accepted, reverted, terminated) and by priority.',
  ['resolution', 'priority_bucket'],
  [5, 10, 15, 20, 30, 45, 60, 90, 120, 150, 180, 300, 600, 1200, 1800, 3600],
);
