/** Calls of the pods API (upstream pkg/kubelet/metrics). */
import { counter } from '../define.ts';

const labels = ['server_api_version', 'status_code'] as const;

export const podsApiRequests = counter(
  'kubelet_pod_requests_total',
  'Cumulative number of requests to the PodsAPI endpoint. Broken down by server api version and status code.',
  labels,
);
export const podRequestsList = counter(
  'kubelet_pod_requests_list_total',
  'Number of requests to the PodsAPI List endpoint. Broken down by server api version and status code.',
  labels,
);
export const podRequestsGet = counter(
  'kubelet_pod_requests_get_total',
  'Number of requests to the PodsAPI Get endpoint. Broken down by server api version and status code.',
  labels,
);
export const podRequestsWatch = counter(
  'kubelet_pod_requests_watch_total',
  'Number of requests to the PodsAPI Watch endpoint. Broken down by server api version and status code.',
  labels,
);
export const podWatchEventsDropped = counter('kubelet_pod_watch_events_dropped_total', 'Cumulative number of pod watch events dropped.');
