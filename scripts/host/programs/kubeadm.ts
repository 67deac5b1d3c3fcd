/** kubeadm of the same version. */
import { ensurePrograms } from './cluster-programs.ts';

/** Returns its path, built if necessary: see ensurePrograms. */
export async function ensureKubeadmBinary(progress: (what: string) => void): Promise<string> {
  return (await ensurePrograms(['kubeadm'], progress)).kubeadm;
}
