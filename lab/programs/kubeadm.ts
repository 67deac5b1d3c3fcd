/** kubeadm of the same version, and the programs of the add-ons that it installs. */
import { ensurePrograms } from './cluster-programs.ts';

export const kubeadmPrograms = ['kubeadm', 'kube-proxy', 'coredns'] as const;
/** The path of each program. */
export type KubeadmBinaries = Readonly<Record<(typeof kubeadmPrograms)[number], string>>;

/** Returns the paths, built if necessary: see ensurePrograms. */
export function ensureKubeadmBinaries(progress: (what: string) => void): Promise<KubeadmBinaries> {
  return ensurePrograms(kubeadmPrograms, progress);
}
