/** Checks whether an earlier kubelet has left CSI volumes on this node. If so, the volumes thread reads their records at the start. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { escapeQualifiedName, podsDir, podVolumesDir } from '../../../shared/kubernetes/paths.ts';
import { volumeKinds } from '../../../shared/kubernetes/volume-kind.ts';

const { plugin } = volumeKinds.csi;

/** Resolves with true also when a folder can't be read. */
export async function hasVolumeRecords(rootDir: string): Promise<boolean> {
  if ((await names(join(rootDir, 'plugins', plugin))).length > 0) return true;
  for (const podUID of await names(podsDir(rootDir)))
    if ((await names(join(podVolumesDir(rootDir, podUID), escapeQualifiedName(plugin)))).length > 0) return true;
  return false;
}

async function names(dir: string): Promise<readonly string[]> {
  return readdir(dir).catch(({ code }: NodeJS.ErrnoException) => (code === 'ENOENT' || code === 'ENOTDIR' ? [] : ['unreadable']));
}
