/** Groups priorities of pods, for labels of metrics (upstream GetPriorityBucketLabel in pkg/kubelet/metrics/metrics.go). */
import { systemCriticalPriority } from './critical-pod.ts';

export const priorityBuckets = ['system-critical', 'high', 'medium', 'normal', 'low', 'very-low'] as const;
export type PriorityBucket = (typeof priorityBuckets)[number];

export function priorityBucket(priority = 0): PriorityBucket {
  if (priority >= systemCriticalPriority) return 'system-critical';
  if (priority >= 100_000) return 'high';
  if (priority > 0) return 'medium';
  if (priority === 0) return 'normal';
  return priority > -1000 ? 'low' : 'very-low';
}
