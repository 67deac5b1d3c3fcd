/** The kubelet's own threads: how often they died, and how long their event loops let others wait. */
import { counter, gauge, histogram, total } from '../define.ts';

export const threadStarts = total('kubelet_thread_starts_total', 'Starts of each thread, the first one included.', ['thread']);
export const threadDeaths = total('kubelet_thread_deaths_total', 'Ends of each thread that nobody asked for.', ['thread']);
export const threadHangs = counter(
  'kubelet_thread_hangs_total',
  'How often each thread was ended since it had not been heard of for too long.',
  ['thread'],
);
export const threadUp = gauge('kubelet_thread_up', 'Whether the thread is alive and its heartbeat fresh.', ['thread'], 'ALPHA', 'max');
export const threadEventLoopDelay = histogram(
  'kubelet_thread_event_loop_delay_seconds',
  'How late each heartbeat of the thread came: the wait that its event loop imposed.',
  ['thread'],
  [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
);
export const mainEventLoopDelay = histogram(
  'kubelet_main_event_loop_delay_seconds',
  "How much later than due the main thread's event loop came round, sampled every 10 ms.",
  [],
  [0.001, 0.002, 0.005, 0.01, 0.0125, 0.015, 0.0175, 0.02, 0.03, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
);
export const threadHeapUsed = gauge(
  'kubelet_thread_heap_used_bytes',
  "Bytes of the thread's JavaScript heap that are in use.",
  ['thread'],
  'ALPHA',
  'max',
);
export const threadHeapLimit = gauge(
  'kubelet_thread_heap_limit_bytes',
  "The limit of the thread's JavaScript heap, at which it is ended and started again.",
  ['thread'],
  'ALPHA',
  'max',
);
export const metricsDroppedSeries = total(
  'kubelet_thread_metrics_dropped_series_total',
  "Series that were not counted because a thread's segment was full.",
);
