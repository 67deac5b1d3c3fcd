/**
 * Reads the records of staged and published CSI volumes into the table when the thread starts. This kubelet or Go's has written them before (upstream
 * pkg/kubelet/volumemanager/reconciler/reconstruct.go).
 */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { podsDir, podVolumesDir, escapeQualifiedName } from '../../shared/kubernetes/paths.ts';
import { readMountsBelow } from '../../shared/linux/mountinfo.ts';
import type { Logger } from '../../shared/log/logger.ts';
import { csiPlugin, csiPluginDir, isDriverName, stagingPath, targetPath } from './csi/csi-paths.ts';
import { readVolumeData, type VolumeData } from './csi/volume-data.ts';
import type { CallState, KnownVolume, VolumeTable } from './volume-table.ts';

export interface RecoverOptions {
  readonly rootDir: string;
  readonly bootID: string;
  readonly table: VolumeTable;
  readonly logger: Logger;
}

/** Rejects when the mount table is needed and can't be read. */
export async function recoverVolumes(options: RecoverOptions): Promise<void> {
  await recoverStaged(options);
  await recoverPublished(options);
}

function stateOf({ completedOnBoot }: VolumeData, bootID: string): CallState {
  return completedOnBoot === bootID ? 'complete' : 'uncertain';
}

function known(table: VolumeTable, { driver, volumeHandle, needsAttachment }: VolumeData): KnownVolume {
  const volume = table.get(driver, volumeHandle);
  volume.needsAttachment ||= needsAttachment;
  return volume;
}

async function recoverStaged({ rootDir, bootID, table, logger }: RecoverOptions): Promise<void> {
  const dir = csiPluginDir(rootDir);
  for (const driver of (await names(dir)).filter(isDriverName)) {
    for (const folder of await names(join(dir, driver))) {
      const path = join(dir, driver, folder, 'globalmount');
      const data = await readVolumeData(path);
      if (data === null) continue;
      if (data === 'unreadable' || data.driver !== driver || stagingPath(rootDir, driver, data.volumeHandle) !== path) {
        table.hasLostStages = true;
        logger.warn({ path }, 'The record of a staged volume is broken; the volume stays staged until a pod uses it');
      } else known(table, data).staged = stateOf(data, bootID);
    }
  }
}

async function recoverPublished({ rootDir, bootID, table, logger }: RecoverOptions): Promise<void> {
  for (const podUID of await names(podsDir(rootDir))) {
    for (const specName of await names(join(podVolumesDir(rootDir, podUID), escapeQualifiedName(csiPlugin)))) {
      const target = targetPath(rootDir, podUID, specName);
      const data = await readVolumeData(target);
      if (data !== null && data !== 'unreadable') known(table, data).published.set(target, stateOf(data, bootID));
      else if ((await readMountsBelow(target)).length > 0) {
        table.hasLostRecords = true;
        logger.warn(
          { path: target },
          'A volume of a pod is mounted whose record is missing or broken; no volume of a pod that is unknown is unstaged',
        );
      }
    }
  }
}

async function names(dir: string): Promise<string[]> {
  return readdir(dir).catch((err: NodeJS.ErrnoException) => {
    if (err.code === 'ENOENT' || err.code === 'ENOTDIR') return [];
    throw err;
  });
}
