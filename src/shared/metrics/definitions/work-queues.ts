/** Metrics of work queues (upstream component-base/metrics/prometheus/workqueue). `name` is the queue's name. */
import { counter, gauge, histogram } from '../define.ts';

const labels = ['name'] as const;
/** Upstream's buckets: from 10 ns, each ten times the one before. */
const buckets = [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 0.001, 0.01, 0.1, 1, 10];

export const workQueueDepth = gauge('workqueue_depth', 'Current depth of workqueue', labels, 'BETA');
export const workQueueAdds = counter('workqueue_adds_total', 'Total number of adds handled by workqueue', labels, 'BETA');
export const workQueueLatency = histogram(
  'workqueue_queue_duration_seconds',
  'How long in seconds an item stays in workqueue before being requested.',
  labels,
  buckets,
  'BETA',
);
export const workQueueDuration = histogram(
  'workqueue_work_duration_seconds',
  'How long in seconds processing an item from workqueue takes.',
  labels,
  buckets,
  'BETA',
);
export const workQueueUnfinished = gauge(
  'workqueue_unfinished_work_seconds',
  "How many seconds of work has done that is in progress and hasn't been observed by work_duration. Large values indicate stuck threads. One can deduce the number of stuck threads by observing the rate at which this increases.",
  labels,
  'BETA',
);
export const workQueueLongest = gauge(
  'workqueue_longest_running_processor_seconds',
  'How many seconds has the longest running processor for workqueue been running.',
  labels,
  'BETA',
);
export const workQueueRetries = counter('workqueue_retries_total', 'Total number of retries handled by workqueue', labels, 'BETA');
