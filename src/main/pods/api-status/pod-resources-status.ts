/**
 * What the pod as a whole has: its own `resources` and `allocatedResources`. A pod that runs shows what its cgroup was given, any other what
 * its containers come to. Upstream: convertToAPIPodLevelResourcesStatus in pkg/kubelet/kubelet_pods.go, which reads the cgroup.
 */
import type { Pod, PodStatus } from '../../../shared/kubernetes/api.ts';
import { podCgroupResources } from '../../../shared/linux/cgroup-values.ts';
import { isPodLevelResource, podLimits, podRequests, type ResourceAmounts } from '../../../shared/kubernetes/pod-resources.ts';
import { formatQuantity, milliValue, parseQuantity } from '../../../shared/kubernetes/quantity.ts';

type PodResources = Pick<PodStatus, 'resources' | 'allocatedResources'>;

/** Upstream's cm.MinShares: a request of no more says nothing. */
const minShares = 2;

/** Summed up once for each version of a pod: a status is made anew often. */
const known = new WeakMap<Pod, { readonly podLevelResources: boolean; readonly isRunning: boolean; readonly status: PodResources }>();

/** `pod` has the resources that it was admitted with. `podLevelResources`: the gate. */
export function podResourcesStatus(pod: Pod, isRunning: boolean, podLevelResources: boolean): PodResources {
  const last = known.get(pod);
  if (last?.isRunning === isRunning && last.podLevelResources === podLevelResources) return last.status;
  const status = compute(pod, isRunning, podLevelResources);
  known.set(pod, { podLevelResources, isRunning, status });
  return status;
}

function compute(pod: Pod, isRunning: boolean, podLevelResources: boolean): PodResources {
  const options = { skipPodLevel: !podLevelResources };
  const amounts = { requests: podRequests(pod, options), limits: podLimits(pod, options) };
  const { requests, limits } = isRunning ? inCgroup(pod, amounts, podLevelResources) : amounts;
  return {
    resources: { ...listed('limits', limits), ...listed('requests', requests) },
    ...listed('allocatedResources', amounts.requests),
  };
}

interface Amounts {
  readonly requests: ResourceAmounts;
  readonly limits: ResourceAmounts;
}

/** A limit is in force where every container has one, or the pod itself. Other resources than CPU and memory are the pod's own only. */
function inCgroup(pod: Pod, { requests, limits }: Amounts, podLevelResources: boolean): Amounts {
  const { cpuQuotaUs = 0, memoryBytes = 0 } = podCgroupResources(pod, {
    enforceCPULimits: true,
    cpuPeriodUs: 100_000,
    podPidsLimit: 0,
    podLevelResources,
  });
  const own = (podLevelResources && pod.spec.resources) || {};
  return {
    requests: {
      ...podLevelAmounts(own.requests),
      ...(requests['cpu'] && milliValue(requests['cpu']) > minShares && { cpu: requests['cpu'] }),
      ...(requests['memory'] && { memory: requests['memory'] }),
    },
    limits: {
      ...podLevelAmounts(own.limits),
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

/** Nothing, where there are none. */
function listed<Name extends string>(name: Name, amounts: ResourceAmounts): { [K in Name]?: Record<string, string> } {
  const list = Object.entries(amounts).map(([resource, amount]): [string, string] => [resource, formatQuantity(amount)]);
  return (list.length > 0 ? { [name]: Object.fromEntries(list) } : {}) as { [K in Name]?: Record<string, string> };
}
