/** The kubelet's threads: their starts and deaths, and the delays of their event loops. */
import { counter, gauge, histogram, total } from '../define.ts';

export const threadStarts = total('kubelet_thread_starts_total', 'Number of starts of each thread, including the first.', ['thread']);
export const threadDeaths = total('kubelet_thread_deaths_total', 'Number of unexpected exits of each thread.', ['thread']);
export const threadHangs = counter(
  'kubelet_thread_hangs_total',
  'Number of times that each thread was terminated because its heartbeat had stopped.',
  ['thread'],
);
export const threadUp = gauge('kubelet_thread_up', 'Whether the thread is alive and its heartbeat is recent.', ['thread'], 'ALPHA', 'max');
export const threadEventLoopDelay = histogram(
  'kubelet_thread_event_loop_delay_seconds',
  'Delay of each heartbeat of the thread, caused by its event loop.',
  ['thread'],
  [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
);
export const mainEventLoopDelay = histogram(
  'kubelet_main_event_loop_delay_seconds',
  "Delay of the main thread's event loop, sampled every 10 ms.",
  [],
  [0.001, 0.002, 0.005, 0.01, 0.0125, 0.015, 0.0175, 0.02, 0.03, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
);
export const threadHeapUsed = gauge(
  'kubelet_thread_heap_used_bytes',
  "Bytes in use of the thread's JavaScript heap.",
  ['thread'],
  'ALPHA',
  'max',
);
export const threadExternal = gauge(
  'kubelet_thread_external_bytes',
  'Bytes of buffers and long strings that the thread holds outside of its JavaScript heap.',
  ['thread'],
  'ALPHA',
  'max',
);
export const threadHeapLimit = gauge(
  'kubelet_thread_heap_limit_bytes',
  "Limit of the thread's JavaScript heap. A thread that reaches it is restarted.",
  ['thread'],
  'ALPHA',
  'max',
);
export const metricsDroppedSeries = total(
  'kubelet_thread_metrics_dropped_series_total',
  "Number of series that were dropped because a thread's segment was full.",
);
