/** What the sync pool counts, under upstream's names (pkg/kubelet/metrics/metrics.go). */
import { counter } from '../define.ts';

export const startedPods = counter('kubelet_started_pods_total', 'Cumulative number of pods started');
export const startedPodsErrors = counter('kubelet_started_pods_errors_total', 'Cumulative number of errors when starting pods');
export const startedContainers = counter('kubelet_started_containers_total', 'Cumulative number of containers started', ['container_type']);
export const startedContainersErrors = counter(
  'kubelet_started_containers_errors_total',
  'Cumulative number of errors when starting containers',
  ['container_type', 'code'],
);
