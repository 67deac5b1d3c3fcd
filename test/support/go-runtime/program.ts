/** The kubelet of the contract suite: this project's, or with `KUBELET_UNDER_TEST=go` the Go kubelet of the same version. */
import { kubeletPath } from '../kubelet/kubelet-command.ts';

export const isGo = process.env['KUBELET_UNDER_TEST'] === 'go';

/** Returns its path. The Go kubelet is built if necessary. */
export async function kubeletUnderTest(): Promise<string> {
  if (!isGo) return kubeletPath;
  // Not imported by the module: the suite does not need the Go kubelet otherwise.
  const { ensureGoKubeletBinary } = await import('../../../lab/programs/go-kubelet.ts');
  return ensureGoKubeletBinary((line) => console.error(line));
}
