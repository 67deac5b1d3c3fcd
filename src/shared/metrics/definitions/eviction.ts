/** Metrics of the eviction manager (upstream pkg/kubelet/metrics/metrics.go). */
import { counter, histogram } from '../define.ts';

export const evictions = counter('kubelet_evictions', 'Cumulative number of pod evictions by eviction signal', ['eviction_signal']);
export const evictionStatsAge = histogram(
  'kubelet_eviction_stats_age_seconds',
  'Time between when stats are collected, and when pod is evicted based on those stats by eviction signal',
  ['eviction_signal'],
);
export const memoryPressureNotifications = counter(
  'kubelet_memory_pressure_notifications_total',
  'Cumulative number of notifications of the kernel about memory that caused a check for evictions, by source',
  ['source'],
);
