/** Metrics of the pleg thread: first upstream's (pkg/kubelet/metrics), then this kubelet's own. */
import { counter, gauge, histogram } from '../define.ts';

export const plegRelistDuration = histogram('kubelet_pleg_relist_duration_seconds', 'Duration in seconds for relisting pods in PLEG.');
export const plegRelistInterval = histogram('kubelet_pleg_relist_interval_seconds', 'Interval in seconds between relisting in PLEG.');
export const plegPodRelistDuration = histogram(
  'kubelet_pleg_pod_relist_duration_seconds',
  'Duration in seconds for relisting a single pod in PLEG.',
);
export const plegLastSeen = gauge(
  'kubelet_pleg_last_seen_seconds',
  'Timestamp in seconds when PLEG was last seen active.',
  [],
  'ALPHA',
  'max',
);
export const plegDiscardEvents = counter('kubelet_pleg_discard_events', 'The number of discard events in PLEG.');
export const eventedPlegConnErr = counter(
  'kubelet_evented_pleg_connection_error_count',
  'The number of errors encountered during the establishment of streaming connection with the CRI runtime.',
);
export const eventedPlegConn = counter(
  'kubelet_evented_pleg_connection_success_count',
  'The number of times a streaming client was obtained to receive CRI Events.',
);
export const eventedPlegConnLatency = histogram(
  'kubelet_evented_pleg_connection_latency_seconds',
  'The latency of streaming connection with the CRI runtime, measured in seconds.',
);
export const runningPods = gauge('kubelet_running_pods', 'Number of pods that have a running pod sandbox');
export const runningContainers = gauge('kubelet_running_containers', 'Number of containers currently running', ['container_state']);

export const plegRelistErrors = counter('kubelet_pleg_relist_errors_total', 'Relists that failed: nothing was learned from them.');
export const plegRelistScanDuration = histogram(
  'kubelet_pleg_relist_scan_duration_seconds',
  "The kubelet's own part of a relist: reading both lists and comparing them with what is known.",
  [],
  [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1],
);
export const plegListBytes = gauge('kubelet_pleg_list_bytes', 'Size of the newest reply to each list call.', ['list']);
export const plegItemsOutsideSnapshot = gauge(
  'kubelet_pleg_items_outside_snapshot',
  'Sandboxes and containers for which the shared snapshot of the runtime has no room.',
);
export const plegQuarantinedItems = gauge(
  'kubelet_pleg_quarantined_items',
  'Sandboxes and containers about which the runtime does not answer; they are asked again with a growing delay.',
);
