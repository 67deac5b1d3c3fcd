/**
 * The record of a staged or published volume, `vol_data.json`: upstream's file and keys (pkg/volume/csi/csi_mounter.go). The record is written before the
 * call that stages or publishes, so it does not prove that the call has succeeded. This kubelet adds the ID of the boot in which the call has succeeded; Go's
 * kubelet ignores this key.
 */
import { open, rm, rmdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { makeFolderDurably, writeDurably } from '../../../shared/linux/write-durably.ts';
import { volumeDataPath } from './csi-paths.ts';

export interface VolumeData {
  readonly driver: string;
  readonly volumeHandle: string;
  /** The ID of the boot in which the call has succeeded. Undefined: the call may not have succeeded. */
  readonly completedOnBoot: string | undefined;
  /** False also for a record of Go's kubelet, which does not have this key. */
  readonly needsAttachment: boolean;
  /** All keys of the file. */
  readonly keys: Readonly<Record<string, string>>;
}

/** Upstream's keys. */
const driverKey = 'driverName';
const handleKey = 'volumeHandle';
/** This kubelet's own keys. */
const completedKey = 'completedOnBoot';
const attachmentKey = 'needsAttachment';

/** The longest record. The CSI specification limits a volume handle to 128 bytes, but some drivers have longer ones. */
const maxBytes = 64 * 1024;

/** Returns null for a text that is not such a record. Pure. */
export function parseVolumeData(text: string): VolumeData | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
  const keys = Object.fromEntries(Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === 'string'));
  const { [driverKey]: driver = '', [handleKey]: volumeHandle = '', [completedKey]: completedOnBoot } = keys;
  if (driver === '' || volumeHandle === '') return null;
  return { driver, volumeHandle, completedOnBoot, needsAttachment: keys[attachmentKey] === 'true', keys };
}

/** The keys of a record that say whether the volume needs an attachment: one, or none. */
export function attachmentKeys(needsAttachment: boolean): Readonly<Record<string, string>> {
  return needsAttachment ? { [attachmentKey]: 'true' } : {};
}

/** Resolves with null when there is no record at this path, and with `unreadable` for one that is empty, broken or too long. */
export async function readVolumeData(mountPath: string): Promise<VolumeData | null | 'unreadable'> {
  let file;
  try {
    file = await open(volumeDataPath(mountPath), 'r');
  } catch (err) {
    const { code } = err as NodeJS.ErrnoException;
    return code === 'ENOENT' || code === 'ENOTDIR' ? null : 'unreadable';
  }
  try {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(maxBytes + 1), 0, maxBytes + 1, 0);
    return bytesRead > maxBytes ? 'unreadable' : (parseVolumeData(buffer.toString('utf8', 0, bytesRead)) ?? 'unreadable');
  } catch {
    return 'unreadable';
  } finally {
    await file.close();
  }
}

/** Writes the record of a call that begins, without the boot of a completion. Also makes the folder of the record. */
export async function recordCall(mountPath: string, keys: Readonly<Record<string, string>>): Promise<void> {
  await makeFolderDurably(dirname(mountPath), 0o750);
  const { [completedKey]: _, ...others } = keys;
  await write(mountPath, others);
}

export async function recordCompletion(mountPath: string, keys: Readonly<Record<string, string>>, bootID: string): Promise<void> {
  await write(mountPath, { ...keys, [completedKey]: bootID });
}

function write(mountPath: string, keys: Readonly<Record<string, string>>): Promise<void> {
  const path = volumeDataPath(mountPath);
  return writeDurably(path, `${path}.tmp`, `${JSON.stringify(keys)}\n`, 0o644);
}

/**
 * Removes the mount path, which the driver should have removed, its record, and their folder. A mount path that is busy or has files stays, with its record: rmdir(2)
 * neither follows a mount nor removes data. Resolves with false then. Upstream: removeMountDir.
 */
export async function removeMountFolder(mountPath: string): Promise<boolean> {
  if (!(await removeEmpty(mountPath))) return false;
  await rm(volumeDataPath(mountPath), { force: true });
  await removeEmpty(dirname(mountPath));
  return true;
}

async function removeEmpty(path: string): Promise<boolean> {
  return rmdir(path).then(
    () => true,
    (err: NodeJS.ErrnoException) => err.code === 'ENOENT',
  );
}
