/** Metrics of main about pods: first upstream's (pkg/kubelet/metrics/metrics.go), then this kubelet's own about start permits. */
import { counter, gauge, histogram } from '../define.ts';

/** Upstream's podStartupDuration buckets. */
const startBuckets = [0.5, 1, 2, 3, 4, 5, 6, 8, 10, 20, 30, 45, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700, 3600];

export const podWorkerDuration = histogram(
  'kubelet_pod_worker_duration_seconds',
  'Duration in seconds to sync a single pod. Broken down by operation type: create, update, or sync',
  ['operation_type'],
);
export const podWorkerStartDuration = histogram(
  'kubelet_pod_worker_start_duration_seconds',
  'Duration in seconds from kubelet seeing a pod to starting a worker.',
);
export const podStartDuration = histogram(
  'kubelet_pod_start_duration_seconds',
  'Duration in seconds from kubelet seeing a pod for the first time to the pod starting to run',
  [],
  startBuckets,
);
export const podStartSliDuration = histogram(
  'kubelet_pod_start_sli_duration_seconds',
  'Duration in seconds to start a pod, excluding time to pull images and run init containers, measured from pod creation timestamp to when all its containers are reported as started and observed via watch',
  [],
  startBuckets,
);
export const podStartTotalDuration = histogram(
  'kubelet_pod_start_total_duration_seconds',
  'Duration in seconds to start a pod since creation, including time to pull images and run init containers, measured from pod creation timestamp to when all its containers are reported as started and observed via watch',
  [],
  startBuckets,
);
export const firstNetworkPodStartSliDuration = gauge(
  'kubelet_first_network_pod_start_sli_duration_seconds',
  'Duration in seconds to start the first network pod, excluding time to pull images and run init containers, measured from pod creation timestamp to when all its containers are reported as started and observed via watch',
  [],
  'INTERNAL',
);
export const containersPerPod = histogram('kubelet_containers_per_pod_count', 'The number of containers per pod.', [], [1, 2, 4, 8, 16]);
export const desiredPods = gauge(
  'kubelet_desired_pods',
  'The number of pods the kubelet is being instructed to run. static is true if the pod is not from the apiserver.',
  ['static'],
);
export const activePods = gauge(
  'kubelet_active_pods',
  'The number of pods the kubelet considers active and which are being considered when admitting new pods. static is true if the pod is not from the apiserver.',
  ['static'],
);
export const workingPods = gauge(
  'kubelet_working_pods',
  'Number of pods the kubelet is actually running, broken down by lifecycle phase, whether the pod is desired, orphaned, or runtime only (also orphaned), and whether the pod is static.',
  ['config', 'lifecycle', 'static'],
);
export const restartedPods = counter(
  'kubelet_restarted_pods_total',
  'Number of pods that have been restarted because they were deleted and recreated with the same UID while the kubelet was watching them (common for static pods, extremely uncommon for API pods)',
  ['static'],
);
export const orphanedRuntimePods = counter(
  'kubelet_orphaned_runtime_pods_total',
  'Number of pods that have been detected in the container runtime without being already known to the pod worker.',
);
export const orphanPodsFound = gauge(
  'kubelet_orphan_pod_cleaned_volumes',
  'The total number of orphaned Pods whose volumes were cleaned in the last periodic sweep.',
);
export const orphanPodsLeft = gauge(
  'kubelet_orphan_pod_cleaned_volumes_errors',
  'The number of orphaned Pods whose volumes failed to be cleaned in the last periodic sweep.',
);
export const admissionRejections = counter(
  'kubelet_admission_rejections_total',
  'Cumulative number pod admission rejections by the Kubelet.',
  ['reason'],
);
export const preemptions = counter('kubelet_preemptions', 'Cumulative number of pod preemptions by preemption resource', [
  'preemption_signal',
]);
export const podLevelResourcesAdmissions = counter(
  'kubelet_pod_level_resources_admission_total',
  'Total number of admitted pods, by where their resources are set (pod_level, container_level, pod_and_container_level, or empty) and by QoS class.',
  ['config_mode', 'qos_class'],
);
export const terminatedContainers = counter('kubelet_terminated_containers_total', 'Cumulative number of container terminations.', [
  'container_type',
  'exit_code',
  'reason',
]);
export const podStatusSyncDuration = histogram(
  'kubelet_pod_status_sync_duration_seconds',
  'Duration in seconds to sync a pod status update. Measures time from detection of a change to pod status until the API is successfully updated for that pod, even if multiple intevening changes to pod status occur.',
  [],
  [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 20, 30, 45, 60],
);
export const mirrorPods = gauge(
  'kubelet_mirror_pods',
  'The number of mirror pods the kubelet will try to create (one per admitted static pod)',
);
export const managedEphemeralContainers = gauge(
  'kubelet_managed_ephemeral_containers',
  'Current number of ephemeral containers in pods managed by this kubelet.',
);

export const startPermitLimit = gauge(
  'kubelet_start_permits_limit',
  'Maximum number of sandboxes and containers that are started in parallel. Adapted to the throughput of the runtime.',
);
export const startPermitsInUse = gauge('kubelet_start_permits_in_use', 'Number of sandboxes and containers that are being started.');
export const startPermitsHung = gauge(
  'kubelet_start_permits_hung',
  'Number of sandboxes and containers whose start takes so long that it does not count against the limit.',
);
export const startPermitsWaiting = gauge('kubelet_start_permits_waiting', 'Number of starts that wait for a start permit.');
export const podsWithoutTimeline = counter(
  'kubelet_pods_without_timeline_total',
  'Cumulative number of pods without a timeline, because all rows of the table belonged to pods that run or terminate',
);
