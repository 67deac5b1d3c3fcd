/** Lists the pod directories on disk, to find those that an earlier kubelet left. */
import { readdir } from 'node:fs/promises';
import type { PodUID } from '../../shared/kubernetes/ids.ts';
import { podsDir } from '../../shared/kubernetes/paths.ts';

export async function listPodDirectories(rootDir: string): Promise<PodUID[]> {
  const entries = await readdir(podsDir(rootDir), { withFileTypes: true }).catch((err: NodeJS.ErrnoException) => {
    if (err.code === 'ENOENT') return [];
    throw err;
  });
  return entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name as PodUID);
}
