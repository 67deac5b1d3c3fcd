/** The Go kubelet of the same version, which benchmarks compare with. */
import { ensureGoKubeletBinary } from '../../lab/programs/go-kubelet.ts';
import type { KubeletProgram } from '../../lab/kubelet/kubelet-program.ts';

/** The first build takes minutes; the result is cached. */
export async function ensureGoKubelet(progress: (line: string) => void): Promise<KubeletProgram> {
  const executable = await ensureGoKubeletBinary(progress);
  return { executable, configuration: {}, needsCgroupRoot: true };
}

/** Lets the kubelet run without an API server, where nobody could authenticate clients. */
export function standalone({ configuration, ...program }: KubeletProgram): KubeletProgram {
  const open = { authentication: { webhook: { enabled: false } }, authorization: { mode: 'AlwaysAllow' } };
  return { ...program, configuration: { ...configuration, ...open } };
}
