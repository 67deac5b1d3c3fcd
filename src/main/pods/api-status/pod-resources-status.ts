/**
 * Computes a pod's own `resources` and `allocatedResources`. A running pod shows the values of its cgroup, any other pod the sum of its
 * containers. Upstream: convertToAPIPodLevelResourcesStatus in pkg/kubelet/kubelet_pods.go.
 */
import type { ActuatedPod, PodCgroupDifference } from '../../../shared/contracts/pod-sync/allocation.ts';
import type { Pod, PodStatus } from '../../../shared/kubernetes/api.ts';
import { computePodCgroupResources, sharesFromWeight, weightFromShares } from '../../../shared/cgroups/cgroup-values.ts';
import { isPodLevelResource, podLimits, podRequests, type ResourceAmounts } from '../../../shared/kubernetes/pod-resources.ts';
import { formatQuantity, milliValue, parseQuantity, quantityOf, value, type Quantity } from '../../../shared/kubernetes/quantity.ts';

type PodResources = Pick<PodStatus, 'resources' | 'allocatedResources'>;

/** Below these minimums the cgroup's values do not reflect the requested ones (upstream cm.MinShares, cm.MinMilliCPULimit). */
const minMilliCPURequest = 2;
const minMilliCPULimit = 10;

export interface PodResourcesInput {
  /** The pod with its allocated resources. */
  readonly pod: Pod;
  /** The pod with the resources that are in force; null when it does not run. */
  readonly inForce: ActuatedPod | null;
  /** Where the cgroup is not as it was allocated. */
  readonly podCgroup?: PodCgroupDifference;
  /** Gate PodLevelResources. */
  readonly podLevelResources: boolean;
}

/** Caches the sums per version of a pod, because statuses are regenerated often. */
const cache = new WeakMap<Pod, { readonly input: PodResourcesInput; readonly status: PodResources }>();

export function podResourcesStatus(input: PodResourcesInput): PodResources {
  const { pod, inForce, podCgroup, podLevelResources } = input;
  const cached = cache.get(pod);
  const before = cached?.input;
  if (cached && before?.inForce === inForce && before.podCgroup === podCgroup && before.podLevelResources === podLevelResources)
    return cached.status;
  const status = compute(input);
  cache.set(pod, { input, status });
  return status;
}

function compute({ pod, inForce, podCgroup, podLevelResources }: PodResourcesInput): PodResources {
  const options = { skipPodLevel: !podLevelResources };
  const amountsOf = (one: Pod) => ({ requests: podRequests(one, options), limits: podLimits(one, options) });
  const amounts = amountsOf(pod);
  const { requests, limits } = inForce ? cgroupAmounts(inForce, amountsOf(inForce), podLevelResources, podCgroup) : amounts;
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
 * The cgroup has a limit only if every container has a limit, or the pod itself has. For resources other than CPU and memory only pod-level values
 * count.
 */
function cgroupAmounts(pod: Pod, { requests, limits }: Amounts, podLevelResources: boolean, read: PodCgroupDifference = {}): Amounts {
  const {
    cpuQuotaUs = 0,
    memoryBytes = 0,
    cpuShares,
  } = computePodCgroupResources(pod, {
    enforceCPULimits: true,
    // The kernel's default; the period has no effect on whether there is a limit.
    cpuPeriodUs: 100_000,
    podPidsLimit: 0,
    podLevelResources,
  });
  const podLevel = (podLevelResources && pod.spec.resources) || {};
  return {
    requests: {
      ...podLevelAmounts(podLevel.requests),
      ...cpuRequestIn(read, requests['cpu'], cpuShares),
      ...(requests['memory'] && { memory: requests['memory'] }),
    },
    limits: {
      ...podLevelAmounts(podLevel.limits),
      ...cpuLimitIn(read, cpuQuotaUs > 0 ? limits['cpu'] : undefined),
      ...memoryLimitIn(read, memoryBytes > 0 ? limits['memory'] : undefined),
    },
  };
}

/**
 * One CPU has 1024 shares.
 * @param shares the CPU shares of the request that is in force
 */
function cpuRequestIn({ cpuShares }: PodCgroupDifference, inForce: Quantity | undefined, shares = 0): ResourceAmounts {
  // Cgroup v2 stores a weight, which several numbers of shares have in common.
  const isInForce = cpuShares === undefined || cpuShares === shares || cpuShares === sharesFromWeight(weightFromShares(shares));
  const milliCPU = Math.ceil(((cpuShares ?? 0) * 1000) / 1024);
  if (isInForce || Math.max(milliCPU, milliValue(inForce)) <= minMilliCPURequest) return inForce ? { cpu: inForce } : {};
  return { cpu: parseQuantity(`${milliCPU}m`) };
}

function cpuLimitIn({ cpuLimit }: PodCgroupDifference, inForce: Quantity | undefined): ResourceAmounts {
  const isInForce = cpuLimit === undefined || (cpuLimit !== null && Math.max(cpuLimit, milliValue(inForce)) <= minMilliCPULimit);
  if (isInForce || (inForce && cpuLimit === milliValue(inForce))) return inForce ? { cpu: inForce } : {};
  return cpuLimit === null ? {} : { cpu: parseQuantity(`${cpuLimit}m`) };
}

function memoryLimitIn({ memoryLimit }: PodCgroupDifference, inForce: Quantity | undefined): ResourceAmounts {
  if (memoryLimit === undefined || (inForce && memoryLimit === value(inForce))) return inForce ? { memory: inForce } : {};
  return memoryLimit === null ? {} : { memory: quantityOf(memoryLimit, 'BinarySI') };
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
