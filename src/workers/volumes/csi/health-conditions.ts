/**
 * Converts what a driver says about health into conditions of the API (upstream mapVolumeHealthConditions and mapStorageBackendHealth in
 * pkg/volume/csi/csi_client.go), and keeps them within what the API server admits: one condition that it refuses would block the whole status of the pod. Pure.
 */
import type { StorageHealthCondition } from '../../../shared/contracts/volumes.ts';
import { firstBytes } from '../../../shared/errors/first-bytes.ts';
import type { VolumeHealthCondition } from '../../../shared/kubernetes/api.ts';
import {
  StorageHealthErrorType as StorageStatus,
  VolumeCapability_AccessMode_Mode as Mode,
  VolumeHealthErrorType as VolumeStatus,
  type NodeGetStorageHealthResponse_StorageBackendHealth as BackendHealth,
  type VolumeCapability,
  type VolumeHealth_VolumeHealthEntry as VolumeEntry,
} from './generated/csi-v1.ts';

/** The API server's bounds of a volume and of a driver (api/core/v1 PodVolumeHealth, pkg/apis/storage/validation). */
const maxConditions = 16;
const maxReasonBytes = 256;
const maxMessageBytes = 1024;
/** apimachinery's IsValidConditionReason. */
const validReason = /^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/;
/** The reason of a condition whose driver gives none that the API server admits. */
const noValidReason = 'NoValidReason';

const volumeStatuses: ReadonlyMap<VolumeStatus, VolumeHealthCondition['status']> = new Map([
  [VolumeStatus.INACCESSIBLE, 'Inaccessible'],
  [VolumeStatus.DATA_LOSS, 'DataLoss'],
  [VolumeStatus.DEGRADED, 'Degraded'],
]);
const storageStatuses: ReadonlyMap<StorageStatus, StorageHealthCondition['status']> = new Map([
  [StorageStatus.STORAGE_UNREACHABLE, 'StorageUnreachable'],
  [StorageStatus.STORAGE_DEGRADED, 'StorageDegraded'],
]);
const accessModes: ReadonlyMap<Mode, NonNullable<StorageHealthCondition['accessMode']>> = new Map([
  [Mode.SINGLE_NODE_WRITER, 'ReadWriteOnce'],
  [Mode.SINGLE_NODE_READER_ONLY, 'ReadWriteOnce'],
  [Mode.SINGLE_NODE_MULTI_WRITER, 'ReadWriteOnce'],
  [Mode.SINGLE_NODE_SINGLE_WRITER, 'ReadWriteOncePod'],
  [Mode.MULTI_NODE_READER_ONLY, 'ReadOnlyMany'],
  [Mode.MULTI_NODE_SINGLE_WRITER, 'ReadWriteMany'],
  [Mode.MULTI_NODE_MULTI_WRITER, 'ReadWriteMany'],
]);

/** Statuses that this version does not know are left out. Throws an Error for too many conditions. */
export function volumeHealthConditions(entries: readonly VolumeEntry[]): VolumeHealthCondition[] {
  const conditions = distinct(
    entries.flatMap((entry) => {
      const status = volumeStatuses.get(entry.status);
      return status ? [{ status, ...textsOf(entry) }] : [];
    }),
    ({ status, reason }) => `${status} ${reason}`,
  );
  checkCount('NodeGetVolumeHealth', conditions.length);
  return conditions;
}

/** As above. Throws an Error also for a capability that is not complete. */
export function storageHealthConditions(entries: readonly BackendHealth[]): StorageHealthCondition[] {
  checkCount('NodeGetStorageHealth', entries.length);
  return distinct(
    entries.flatMap((entry, index) => {
      const status = storageStatuses.get(entry.status);
      return status ? [{ status, ...textsOf(entry), ...(entry.volumeCapability && capabilityOf(entry.volumeCapability, index)) }] : [];
    }),
    ({ status, reason, accessMode, volumeMode }) => `${status} ${reason} ${accessMode} ${volumeMode}`,
  );
}

function textsOf({ reason, message }: Pick<VolumeEntry, 'reason' | 'message'>): Pick<VolumeHealthCondition, 'reason' | 'message'> {
  const isValid = reason.length <= maxReasonBytes && validReason.test(reason);
  return { reason: isValid ? reason : noValidReason, ...(message !== '' && { message: firstBytes(message, maxMessageBytes) }) };
}

function capabilityOf(
  { block, mount, accessMode }: VolumeCapability,
  index: number,
): Pick<StorageHealthCondition, 'accessMode' | 'volumeMode'> {
  const mode = accessMode && accessModes.get(accessMode.mode);
  const volumeMode = block ? 'Block' : mount ? 'Filesystem' : undefined;
  if (!mode || !volumeMode) throw new Error(`NodeGetStorageHealth condition ${index} has invalid volume capability`);
  return { accessMode: mode, volumeMode };
}

/** Of conditions with one identity the first one stays: the API server admits no second one. */
function distinct<Condition>(conditions: readonly Condition[], identityOf: (condition: Condition) => string): Condition[] {
  const found = new Set<string>();
  return conditions.filter((condition) => {
    const identity = identityOf(condition);
    const isFirst = !found.has(identity);
    found.add(identity);
    return isFirst;
  });
}

function checkCount(method: string, count: number): void {
  if (count > maxConditions) throw new Error(`${method} returned ${count} conditions, maximum is ${maxConditions}`);
}
