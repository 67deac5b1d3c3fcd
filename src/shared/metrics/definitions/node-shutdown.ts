/** Metrics of the graceful node shutdown (upstream pkg/kubelet/metrics/metrics.go). */
import { gauge } from '../define.ts';

export const gracefulShutdownStartTime = gauge(
  'kubelet_graceful_shutdown_start_time_seconds',
  'Last graceful shutdown start time since unix epoch in seconds',
);
export const gracefulShutdownEndTime = gauge(
  'kubelet_graceful_shutdown_end_time_seconds',
  'Last graceful shutdown end time since unix epoch in seconds',
);
