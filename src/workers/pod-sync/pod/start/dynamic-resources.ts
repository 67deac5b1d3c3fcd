/**
 * Refuses pods that need devices of the DynamicResourceAllocation API, which this kubelet cannot prepare: without its device, a container would
 * start and fail in its own way. Upstream prepares the claims before the sandbox (pkg/kubelet/cm/dra).
 */
import type { Pod } from '../../../../shared/kubernetes/api.ts';

/** Returns why the pod cannot start; null when it has no claims, neither in its spec nor made by the scheduler for its extended resources. */
export function dynamicResourcesProblem({ spec, status }: Pod): string | null {
  const names = (spec.resourceClaims ?? []).map(({ name }) => name);
  const extended = status?.extendedResourceClaimStatus?.resourceClaimName;
  if (extended !== undefined) names.push(extended);
  return names.length === 0 ? null : `this kubelet cannot prepare resource claims (${names.join(', ')})`;
}
