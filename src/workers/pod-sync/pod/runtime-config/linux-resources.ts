/** Computes the Linux resources of containers and sandboxes (upstream kuberuntime_container_linux.go and kuberuntime_sandbox_linux.go). */
import type { PodSyncSettings } from '../../../../shared/contracts/pod-sync/worker-data.ts';
import type { HugepageLimit, LinuxContainerResources } from '../../../../shared/cri/generated/cri-v1.ts';
import type { Container, EphemeralContainer, Pod } from '../../../../shared/kubernetes/api.ts';
import { hasPodLevelResources, podLimits, podRequests } from '../../../../shared/kubernetes/pod-resources.ts';
import { qosClass } from '../../../../shared/kubernetes/qos-class.ts';
import { isZeroQuantity, milliValue, type QuantityLike, value } from '../../../../shared/kubernetes/quantity.ts';
import { getsSwap, isSwapLimited } from '../../../../shared/kubernetes/swap.ts';
import { hugePageSizeName, quotaFromMilliCPU, sharesFromMilliCPU } from '../../../../shared/cgroups/cgroup-values.ts';
import { computeMemoryQos } from './memory-qos.ts';
import { computeOOMScoreAdj } from './oom-score.ts';
import type { ContainerResourcesInput, PodConfigInput } from './config-inputs.ts';

/** 100 ms, the kernel's default. */
const defaultPeriodUs = 100_000;

type Limits = Readonly<Record<string, QuantityLike>>;

/** Returns the pod's requests and limits without its overhead, and the overhead. */
export function sandboxResources({ pod, settings }: PodConfigInput): {
  resources: LinuxContainerResources;
  overhead: LinuxContainerResources;
} {
  const options = { excludeOverhead: true, skipPodLevel: !settings.featureGates.PodLevelResources };
  const limits = podLimits(pod, options);
  const overhead = pod.spec.overhead;
  return {
    resources: toResources(podRequests(pod, options)['cpu'], limits, settings),
    overhead: overhead ? toResources(overhead['cpu'] ?? '0', overhead, settings) : zeroResources(),
  };
}

export function containerResources(input: ContainerResourcesInput): LinuxContainerResources {
  const { pod, container, settings, hostInfo, node } = input;
  const podLevel = settings.featureGates.PodLevelResources && hasPodLevelResources(pod.spec);
  const limits = effectiveLimits(pod, container, podLevel);
  const basic = toResources(container.resources?.requests?.['cpu'], limits, settings);
  const resources = { ...basic, unified: { ...basic.unified, ...memoryQos(input, podLevel) } };
  return {
    ...resources,
    ...swapLimit(input, resources),
    oomScoreAdj: BigInt(computeOOMScoreAdj(pod, container, node.capacity.memoryBytes, podLevel)),
    hugepageLimits: hugepageLimits(hostInfo.hugePageSizes, {
      ...(podLevel ? pod.spec.resources?.limits : {}),
      ...container.resources?.limits,
    }),
    cpusetCpus: input.cpusetCpus ?? '',
    cpusetMems: input.cpusetMems ?? '',
    // Exclusive CPUs must not be throttled.
    cpuQuota: settings.cpuCFSQuota && input.cpusetCpus ? -1n : resources.cpuQuota,
  };
}

function memoryQos({ pod, container, settings, node }: ContainerResourcesInput, podLevel: boolean): Record<string, string> {
  if (settings.cgroupVersion === 1) return {};
  // A container that was created while the gate was on may still be throttled.
  if (!settings.featureGates.MemoryQoS) return { 'memory.high': 'max' };
  const hasPodLimit = podLevel && !isZeroQuantity(pod.spec.resources?.limits?.['memory']) && isZeroQuantity(ownMemoryLimit(pod, container));
  const allocatableBytes = Math.max(0, node.capacity.memoryBytes - settings.reservedMemoryBytes);
  return computeMemoryQos({ qos: qosClass(pod), resources: container.resources, settings, hasPodLimit, allocatableBytes });
}

/** Returns the limit from the pod's spec: in a resize, `container` has its pod's limit as if it were its own (withPodLimits). */
function ownMemoryLimit({ spec: { containers, initContainers = [] } }: Pod, container: Container | EphemeralContainer): string | undefined {
  const { resources } = [...containers, ...initContainers].find(({ name }) => name === container.name) ?? container;
  return resources?.limits?.['memory'];
}

/** Returns the container's limits. With pod-level resources, a missing limit is the pod's. */
function effectiveLimits(pod: Pod, { resources }: Container | EphemeralContainer, podLevel: boolean): Limits {
  const containerLimits = resources?.limits ?? {};
  if (!podLevel) return containerLimits;
  const podLevelLimits = pod.spec.resources?.limits ?? {};
  const pick = (name: string) => (isZeroQuantity(containerLimits[name]) ? podLevelLimits[name] : containerLimits[name]);
  return { cpu: pick('cpu'), memory: pick('memory') };
}

/** A missing CPU request is the limit, which the API server would set as the request. */
function toResources(cpuRequest: QuantityLike, limits: Limits, settings: PodSyncSettings): LinuxContainerResources {
  const { cpuCFSQuota, cpuCFSQuotaPeriodUs, cgroupVersion, singleProcessOOMKill } = settings;
  const periodUs = settings.featureGates.CustomCPUCFSQuotaPeriod ? cpuCFSQuotaPeriodUs : defaultPeriodUs;
  return {
    ...zeroResources(),
    cpuShares: BigInt(sharesFromMilliCPU(milliValue(cpuRequest ?? limits['cpu']))),
    cpuPeriod: cpuCFSQuota ? BigInt(periodUs) : 0n,
    cpuQuota: cpuCFSQuota ? BigInt(quotaFromMilliCPU(milliValue(limits['cpu']), periodUs)) : 0n,
    memoryLimitInBytes: BigInt(value(limits['memory'])),
    // The OOM killer kills all processes of a container together.
    unified: cgroupVersion === 2 && !singleProcessOOMKill ? { 'memory.oom.group': '1' } : {},
  };
}

function zeroResources(): LinuxContainerResources {
  return {
    cpuPeriod: 0n,
    cpuQuota: 0n,
    cpuShares: 0n,
    memoryLimitInBytes: 0n,
    oomScoreAdj: 0n,
    cpusetCpus: '',
    cpusetMems: '',
    hugepageLimits: [],
    unified: {},
    memorySwapLimitInBytes: 0n,
  };
}

/** Returns a limit for every page size of the node, 0 without a request: a missing size would be unlimited. */
function hugepageLimits(sizes: readonly string[], limits: Limits): HugepageLimit[] {
  const requested = new Map<string, bigint>();
  for (const [name, amount] of Object.entries(limits)) {
    if (name.startsWith('hugepages-')) requested.set(hugePageSizeName(value(name.slice('hugepages-'.length))), BigInt(value(amount)));
  }
  return sizes.map((pageSize) => ({ pageSize, limit: requested.get(pageSize) ?? 0n }));
}

type Swap = Partial<Pick<LinuxContainerResources, 'memorySwapLimitInBytes' | 'unified'>>;

/** v1 limits memory and swap together, here to the memory limit. v2 limits swap separately. */
function swapLimit(input: ContainerResourcesInput, { memoryLimitInBytes, unified }: LinuxContainerResources): Swap {
  if (!input.hostInfo.swapControllerAvailable) return {};
  if (input.settings.cgroupVersion === 1) return { memorySwapLimitInBytes: memoryLimitInBytes };
  return { unified: { ...unified, 'memory.swap.max': String(swapBytes(input)) } };
}

/** LimitedSwap: a Burstable container gets the share of the node's swap that its memory request is of the node's memory. */
function swapBytes({ pod, container, settings, hostInfo, node }: ContainerResourcesInput): number {
  const { requests, limits } = container.resources ?? {};
  const own = isZeroQuantity(ownMemoryLimit(pod, container)) ? { requests } : { requests, limits };
  if (!isSwapLimited(settings.memorySwapBehavior) || !getsSwap(pod, own)) return 0;
  const requestBytes = value(requests?.['memory']);
  const { memoryBytes } = node.capacity;
  return memoryBytes <= 0 || requestBytes > memoryBytes ? 0 : Math.trunc((requestBytes / memoryBytes) * hostInfo.swapCapacityBytes);
}
