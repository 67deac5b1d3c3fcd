/** The Go kubelet of the same version, which tests and benchmarks compare with. */
import { ensurePrograms } from './cluster-programs.ts';

/** Returns its path, built if necessary: see ensurePrograms. */
export async function ensureGoKubeletBinary(progress: (what: string) => void): Promise<string> {
  return (await ensurePrograms(['kubelet'], progress)).kubelet;
}
