/** Which pods have a folder on disk: what an earlier kubelet left is found by it. */
import { readdir } from 'node:fs/promises';
import type { PodUID } from '../../../shared/kubernetes/ids.ts';
import { podsDir } from '../../../shared/kubernetes/paths.ts';

export async function listPodDirectories(rootDir: string): Promise<PodUID[]> {
  const entries = await readdir(podsDir(rootDir), { withFileTypes: true }).catch((err: NodeJS.ErrnoException) => {
    if (err.code === 'ENOENT') return [];
    throw err;
  });
  return entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name as PodUID);
}
