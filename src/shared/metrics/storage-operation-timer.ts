/** Measures operations on volumes for upstream's metric storage_operation_duration_seconds (pkg/volume/util/metrics.go). */
import { storageOperationDuration } from './definitions/volumes.ts';

export type StorageOperation = 'volume_mount' | 'volume_unmount' | 'volume_apply_access_control';

/** Starts a timer; call the result to stop it and to record the duration. */
export function startStorageOperationTimer(operation: StorageOperation): (plugin: string, succeeded: boolean) => void {
  const startedAtMs = performance.now();
  return (plugin, succeeded) => {
    const status = succeeded ? 'success' : 'fail-unknown';
    const labels = { volume_plugin: plugin, operation_name: operation, status, migrated: 'false' };
    storageOperationDuration.observe((performance.now() - startedAtMs) / 1000, labels);
  };
}
