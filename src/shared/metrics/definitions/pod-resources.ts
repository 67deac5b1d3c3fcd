/** Calls of the PodResources API (upstream pkg/kubelet/metrics). */
import { counter } from '../define.ts';

const labels = ['server_api_version'] as const;

export const podResourcesRequests = counter(
  'kubelet_pod_resources_endpoint_requests_total',
  'Cumulative number of requests to the PodResource endpoint. Broken down by server api version.',
  labels,
);
export const podResourcesRequestsList = counter(
  'kubelet_pod_resources_endpoint_requests_list',
  'Number of requests to the PodResource List endpoint. Broken down by server api version.',
  labels,
);
export const podResourcesRequestsGetAllocatable = counter(
  'kubelet_pod_resources_endpoint_requests_get_allocatable',
  'Number of requests to the PodResource GetAllocatableResources endpoint. Broken down by server api version.',
  labels,
);
export const podResourcesErrorsList = counter(
  'kubelet_pod_resources_endpoint_errors_list',
  'Number of requests to the PodResource List endpoint which returned error. Broken down by server api version.',
  labels,
);
export const podResourcesErrorsGetAllocatable = counter(
  'kubelet_pod_resources_endpoint_errors_get_allocatable',
  'Number of requests to the PodResource GetAllocatableResources endpoint which returned error. Broken down by server api version.',
  labels,
);
export const podResourcesRequestsGet = counter(
  'kubelet_pod_resources_endpoint_requests_get',
  'Number of requests to the PodResource Get endpoint. Broken down by server api version.',
  labels,
);
export const podResourcesErrorsGet = counter(
  'kubelet_pod_resources_endpoint_errors_get',
  'Number of requests to the PodResource Get endpoint which returned error. Broken down by server api version.',
  labels,
);
