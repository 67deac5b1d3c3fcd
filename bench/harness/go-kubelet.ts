/** The Go kubelet of the same version: the peer, which people run today. */
import { ensurePeerKubelet } from '../../scripts/host/control-plane-binaries.ts';
import type { KubeletProgram } from './kubelet-process.ts';

/** Built once, in minutes; from then on it is there. */
export async function ensureGoKubelet(say: (line: string) => void): Promise<KubeletProgram> {
  const executable = await ensurePeerKubelet(say);
  // The chains would be the host's own, and nobody would take them away again.
  return { executable, configuration: { makeIPTablesUtilChains: false }, needsCgroupRoot: true };
}
