/** Metrics of the images thread (upstream pkg/kubelet/images/metrics.go, pkg/kubelet/metrics). */
import { counter, gauge, histogram } from '../define.ts';

export const ensureImageRequests = counter(
  'kubelet_image_manager_ensure_image_requests_total',
  'Number of ensure-image requests processed by the kubelet.',
  ['pull_policy', 'present_locally', 'pull_required'],
);

export const mustPullChecks = counter(
  'kubelet_imagemanager_image_mustpull_checks_total',
  'Counter for how many times kubelet checked whether credentials need to be re-verified to access an image',
  ['result'],
);

export const pullIntents = gauge('kubelet_imagemanager_ondisk_pullintents', 'Number of ImagePullIntents stored on disk.');
export const pulledRecords = gauge('kubelet_imagemanager_ondisk_pulledrecords', 'Number of ImagePulledRecords stored on disk.');

export const imagePullDuration = histogram(
  'kubelet_image_pull_duration_seconds',
  'Duration in seconds to pull an image.',
  ['image_size_in_bytes'],
  [1, 5, 10, 20, 30, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700, 3600],
);

export const pluginErrors = counter('kubelet_credential_provider_plugin_errors_total', 'Number of errors from credential provider plugin', [
  'plugin_name',
]);
export const pluginDuration = histogram(
  'kubelet_credential_provider_plugin_duration',
  'Duration of execution in seconds for credential provider plugin',
  ['plugin_name'],
);
export const credentialProviderConfigInfo = gauge(
  'kubelet_credential_provider_config_info',
  'Information about the last applied credential provider configuration with hash as label',
  ['hash'],
  'ALPHA',
  'max',
);

export const imagesCollected = counter(
  'kubelet_image_garbage_collected_total',
  'Total number of images garbage collected by the kubelet, whether through disk usage or image age.',
  ['reason'],
);

export const containersRemoved = counter(
  'kubelet_thread_collected_total',
  'Dead containers, sandboxes and log folders that garbage collection removed.',
  ['kind'],
);
