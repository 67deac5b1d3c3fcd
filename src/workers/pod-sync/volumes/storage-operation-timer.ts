/** How long an operation on a volume took, by upstream's names (pkg/volume/util/metrics.go). */
import { storageOperationDuration } from '../../../shared/metrics/definitions/volumes.ts';
import { monotonicMs } from '../../../shared/time/clock.ts';

export type StorageOperation = 'volume_mount' | 'volume_unmount' | 'volume_apply_access_control';

/** Begins to measure; what it answers with is called at the end. */
export function startStorageOperationTimer(operation: StorageOperation): (plugin: string, succeeded: boolean) => void {
  const beganAtMs = monotonicMs();
  return (plugin, succeeded) => {
    const status = succeeded ? 'success' : 'fail-unknown';
    const labels = { volume_plugin: plugin, operation_name: operation, status, migrated: 'false' };
    storageOperationDuration.observe((monotonicMs() - beganAtMs) / 1000, labels);
  };
}
