/** Metrics of the sync pool, with upstream's names (pkg/kubelet/metrics/metrics.go). */
import { counter, histogram } from '../define.ts';

export const startedPods = counter('kubelet_started_pods_total', 'Cumulative number of pods started');
export const startedPodsErrors = counter('kubelet_started_pods_errors_total', 'Cumulative number of errors when starting pods');
export const startedUserNamespacedPods = counter(
  'kubelet_started_user_namespaced_pods_total',
  'Cumulative number of pods with user namespaces started. This metric will only be collected on Linux.',
);
export const startedUserNamespacedPodsErrors = counter(
  'kubelet_started_user_namespaced_pods_errors_total',
  'Cumulative number of errors when starting pods with user namespaces. This metric will only be collected on Linux.',
);
export const startedContainers = counter('kubelet_started_containers_total', 'Cumulative number of containers started', ['container_type']);
export const startedContainersErrors = counter(
  'kubelet_started_containers_errors_total',
  'Cumulative number of errors when starting containers',
  ['container_type', 'code'],
);
export const runPodSandboxDuration = histogram(
  'kubelet_run_podsandbox_duration_seconds',
  'Duration in seconds of the run_podsandbox operations. Broken down by RuntimeClass.Handler.',
  ['runtime_handler'],
);
export const runPodSandboxErrors = counter(
  'kubelet_run_podsandbox_errors_total',
  'Cumulative number of the run_podsandbox operation errors by RuntimeClass.Handler.',
  ['runtime_handler'],
);
export const imageVolumesRequested = counter('kubelet_image_volume_requested_total', 'Number of requested image volumes.', [], 'BETA');
export const imageVolumesMounted = counter(
  'kubelet_image_volume_mounted_succeed_total',
  'Number of successful image volume mounts.',
  [],
  'BETA',
);
export const imageVolumesFailed = counter('kubelet_image_volume_mounted_errors_total', 'Number of failed image volume mounts.', [], 'BETA');
export const cgroupManagerDuration = histogram(
  'kubelet_cgroup_manager_duration_seconds',
  'Duration in seconds for cgroup manager operations. Broken down by method.',
  ['operation_type'],
);
export const lifecycleHttpFallbacks = counter(
  'kubelet_lifecycle_handler_http_fallbacks_total',
  'The number of times lifecycle handlers successfully fell back to http from https.',
);
export const sleepHooksTerminated = counter(
  'kubelet_sleep_action_terminated_early_total',
  'The number of times lifecycle sleep handler got terminated before it finishes',
);
