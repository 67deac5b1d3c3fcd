/** Metrics of volumes (upstream pkg/volume/util/metrics.go, pkg/kubelet/volumemanager/metrics, pkg/kubelet/metrics/collectors/podcertificate_metrics.go). */
import { gauge, histogram } from '../define.ts';

/** The label `migrated` of the first two metrics is always false here. In upstream it is true for volumes of plugins that were in its tree. */
const operationBuckets = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600];

export const storageOperationDuration = histogram(
  'storage_operation_duration_seconds',
  'Storage operation duration',
  ['volume_plugin', 'operation_name', 'status', 'migrated'],
  operationBuckets,
  'BETA',
);

export const csiOperations = histogram(
  'csi_operations_seconds',
  'Container Storage Interface operation duration with gRPC error code status total',
  ['driver_name', 'method_name', 'grpc_status_code', 'migrated'],
  operationBuckets,
);

export const volumeOperationTotal = histogram(
  'volume_operation_total_seconds',
  'Storage operation end to end duration in seconds',
  ['plugin_name', 'operation_name'],
  operationBuckets,
  'BETA',
);

/** The metric's source: `statfs`, `fsquota`, or `du` for a walk. Upstream: pkg/kubelet/server/metrics. */
export const volumeMetricCollectionDuration = histogram(
  'kubelet_volume_metric_collection_duration_seconds',
  'Duration in seconds to calculate volume stats',
  ['metric_source'],
  [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
);

export const totalVolumes = gauge('volume_manager_total_volumes', 'Number of volumes in Volume Manager', ['plugin_name', 'state']);

/** Upstream: pkg/kubelet/volumemanager/volumehealth. */
export const csiNodeStorageHealthStatus = gauge(
  'csi_node_storage_health_status',
  'CSI node storage backend health conditions currently reported (1 = present).',
  ['driver_name', 'status', 'reason'],
);

export const podCertificateStates = gauge(
  'kubelet_podcertificate_states',
  'Gauge vector reporting the number of pod certificate projected volume sources, faceted by signer_name and state.',
  ['signer_name', 'state'],
);
