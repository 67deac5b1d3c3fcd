/**
 * Computes a pod's own `resources` and `allocatedResources`. A running pod shows the values of its cgroup, any other pod the sum of its
 * containers. Upstream: convertToAPIPodLevelResourcesStatus in pkg/kubelet/kubelet_pods.go, which reads the cgroup.
 */
import type { Pod, PodStatus } from '../../../shared/kubernetes/api.ts';
import { computePodCgroupResources } from '../../../shared/cgroups/cgroup-values.ts';
import { isPodLevelResource, podLimits, podRequests, type ResourceAmounts } from '../../../shared/kubernetes/pod-resources.ts';
import { formatQuantity, parseQuantity } from '../../../shared/kubernetes/quantity.ts';

type PodResources = Pick<PodStatus, 'resources' | 'allocatedResources'>;

/** Caches the sums per version of a pod, because statuses are regenerated often. */
const cache = new WeakMap<Pod, { readonly podLevelResources: boolean; readonly inForce: Pod | null; readonly status: PodResources }>();

/**
 * @param pod has its allocated resources
 * @param inForce the pod with the resources that are in force; null when it does not run
 * @param podLevelResources the feature gate
 */
export function podResourcesStatus(pod: Pod, inForce: Pod | null, podLevelResources: boolean): PodResources {
  const cached = cache.get(pod);
  if (cached?.inForce === inForce && cached.podLevelResources === podLevelResources) return cached.status;
  const status = compute(pod, inForce, podLevelResources);
  cache.set(pod, { podLevelResources, inForce, status });
  return status;
}

function compute(pod: Pod, inForce: Pod | null, podLevelResources: boolean): PodResources {
  const options = { skipPodLevel: !podLevelResources };
  const amountsOf = (one: Pod) => ({ requests: podRequests(one, options), limits: podLimits(one, options) });
  const amounts = amountsOf(pod);
  const { requests, limits } = inForce ? cgroupAmounts(inForce, amountsOf(inForce), podLevelResources) : amounts;
  return {
    resources: { ...toFieldIfAny('limits', limits), ...toFieldIfAny('requests', requests) },
    ...toFieldIfAny('allocatedResources', amounts.requests),
  };
}

interface Amounts {
  readonly requests: ResourceAmounts;
  readonly limits: ResourceAmounts;
}

/**
 * The cgroup has a limit only if every container or the pod itself has one. For resources other than CPU and memory only pod-level values
 * count.
 */
function cgroupAmounts(pod: Pod, { requests, limits }: Amounts, podLevelResources: boolean): Amounts {
  const { cpuQuotaUs = 0, memoryBytes = 0 } = computePodCgroupResources(pod, {
    enforceCPULimits: true,
    cpuPeriodUs: 100_000,
    podPidsLimit: 0,
    podLevelResources,
  });
  const podLevel = (podLevelResources && pod.spec.resources) || {};
  return {
    requests: {
      ...podLevelAmounts(podLevel.requests),
      ...(requests['cpu'] && { cpu: requests['cpu'] }),
      ...(requests['memory'] && { memory: requests['memory'] }),
    },
    limits: {
      ...podLevelAmounts(podLevel.limits),
      ...(limits['cpu'] && cpuQuotaUs > 0 && { cpu: limits['cpu'] }),
      ...(limits['memory'] && memoryBytes > 0 && { memory: limits['memory'] }),
    },
  };
}

function podLevelAmounts(list: Readonly<Record<string, string>> = {}): ResourceAmounts {
  return Object.fromEntries(
    Object.entries(list).flatMap(([name, amount]) => (isPodLevelResource(name) ? [[name, parseQuantity(amount)]] : [])),
  );
}

/** Returns no field when there are no amounts. */
function toFieldIfAny<Name extends string>(name: Name, amounts: ResourceAmounts): { [K in Name]?: Record<string, string> } {
  const list = Object.entries(amounts).map(([resource, amount]): [string, string] => [resource, formatQuantity(amount)]);
  return (list.length > 0 ? { [name]: Object.fromEntries(list) } : {}) as { [K in Name]?: Record<string, string> };
}
