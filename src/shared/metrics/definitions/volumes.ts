/** Metrics of volumes (upstream pkg/volume/util/metrics.go, pkg/kubelet/metrics/collectors/podcertificate_metrics.go). */
import { gauge, histogram } from '../define.ts';

export const storageOperationDuration = histogram(
  'storage_operation_duration_seconds',
  'Storage operation duration',
  ['volume_plugin', 'operation_name', 'status', 'migrated'],
  [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600],
);

export const podCertificateStates = gauge(
  'kubelet_podcertificate_states',
  'Gauge vector reporting the number of pod certificate projected volume sources, faceted by signer_name and state.',
  ['signer_name', 'state'],
);
