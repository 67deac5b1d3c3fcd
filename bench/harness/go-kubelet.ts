/** The Go kubelet of the same version, which benchmarks compare with. */
import { ensureGoKubeletBinary } from '../../scripts/host/control-plane-binaries.ts';
import type { KubeletProgram } from './kubelet-process.ts';

/** The first build takes minutes; the result is cached. */
export async function ensureGoKubelet(progress: (line: string) => void): Promise<KubeletProgram> {
  const executable = await ensureGoKubeletBinary(progress);
  // The chains would be created in the host's network and never be removed.
  return { executable, configuration: { makeIPTablesUtilChains: false }, needsCgroupRoot: true };
}
