/** Decides whether the runtime can mount images as volumes. Pure. Upstream leaves the answer to the runtime. */
import type { NodeInfo } from '../../../../shared/contracts/node-info.ts';

/**
 * Returns the problem, or null. CRI has no flag for image volumes. containerd before 2.1 ignores the image of a mount, and fails with
 * `failed to mkdir ""`, which names neither the volume nor the cause.
 */
export function imageVolumeProblem({ runtimeName, runtimeVersion }: Pick<NodeInfo, 'runtimeName' | 'runtimeVersion'>): string | null {
  const [, major, minor] = /^v?(\d+)\.(\d+)/.exec(runtimeVersion) ?? [];
  if (runtimeName !== 'containerd' || major === undefined) return null;
  const isNewEnough = Number(major) > 2 || (Number(major) === 2 && Number(minor) >= 1);
  return isNewEnough ? null : `image volumes need containerd 2.1 or later, this node has ${runtimeVersion}`;
}
