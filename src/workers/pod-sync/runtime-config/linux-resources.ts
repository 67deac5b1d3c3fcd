/** What the kernel is told to give a container (upstream kuberuntime_container_linux.go and kuberuntime_sandbox_linux.go). */
import type { PodSyncSettings } from '../../../shared/contracts/pod-sync/worker-data.ts';
import type { HugepageLimit, LinuxContainerResources } from '../../../shared/cri/generated/cri-v1.ts';
import type { Container, EphemeralContainer, Pod } from '../../../shared/kubernetes/api.ts';
import { hasPodLevelResources, podLimits, podRequests } from '../../../shared/kubernetes/pod-resources.ts';
import { qosClass } from '../../../shared/kubernetes/qos-class.ts';
import { compareQuantities, isZeroQuantity, milliValue, type QuantityLike, value } from '../../../shared/kubernetes/quantity.ts';
import { hugePageSizeName, quotaFromMilliCPU, sharesFromMilliCPU } from '../../../shared/linux/cgroup-values.ts';
import { isGateEnabled } from '../feature-gate-defaults.ts';
import { isCriticalPod, oomScoreAdj } from './oom-score.ts';
import type { ContainerConfigInput, PodConfigInput } from './config-inputs.ts';

/** 100 ms, the kernel's default. */
const defaultPeriodUs = 100_000;

type Limits = Readonly<Record<string, QuantityLike>>;

/** The sandbox's: what the pod asks for without its overhead, and the overhead. */
export function sandboxResources({ pod, settings }: PodConfigInput): {
  resources: LinuxContainerResources;
  overhead: LinuxContainerResources;
} {
  const options = { excludeOverhead: true, skipPodLevel: !isGateEnabled(settings, 'PodLevelResources') };
  const limits = podLimits(pod, options);
  const overhead = pod.spec.overhead;
  return {
    resources: calculate(podRequests(pod, options)['cpu'], limits, settings),
    overhead: overhead ? calculate(overhead['cpu'] ?? '0', overhead, settings) : noResources(),
  };
}

export function containerResources(input: ContainerConfigInput): LinuxContainerResources {
  const { pod, container, settings, hostInfo, node } = input;
  const podLevel = isGateEnabled(settings, 'PodLevelResources') && hasPodLevelResources(pod.spec);
  const limits = effectiveLimits(pod, container, podLevel);
  const resources = calculate(container.resources?.requests?.['cpu'], limits, settings);
  return {
    ...resources,
    ...swap(input, resources),
    oomScoreAdj: BigInt(oomScoreAdj(pod, container, node.capacity.memoryBytes, podLevel)),
    hugepageLimits: hugepageLimits(hostInfo.hugePageSizes, {
      ...(podLevel ? pod.spec.resources?.limits : {}),
      ...container.resources?.limits,
    }),
    cpusetCpus: input.cpusetCpus ?? '',
    cpusetMems: input.cpusetMems ?? '',
    // Exclusive CPUs are not to be throttled.
    cpuQuota: settings.cpuCFSQuota && input.cpusetCpus ? -1n : resources.cpuQuota,
  };
}

/** A container without a limit of its own is held by the pod's. */
function effectiveLimits(pod: Pod, { resources }: Container | EphemeralContainer, podLevel: boolean): Limits {
  const own = resources?.limits ?? {};
  if (!podLevel) return own;
  const ofPod = pod.spec.resources?.limits ?? {};
  const pick = (name: string) => (isZeroQuantity(own[name]) ? ofPod[name] : own[name]);
  return { cpu: pick('cpu'), memory: pick('memory') };
}

/** No request: as much as the limit, which the API server would have written there. */
function calculate(cpuRequest: QuantityLike, limits: Limits, settings: PodSyncSettings): LinuxContainerResources {
  const { cpuCFSQuota, cpuCFSQuotaPeriodUs, cgroupVersion, singleProcessOOMKill } = settings;
  const periodUs = isGateEnabled(settings, 'CustomCPUCFSQuotaPeriod') ? cpuCFSQuotaPeriodUs : defaultPeriodUs;
  return {
    ...noResources(),
    cpuShares: BigInt(sharesFromMilliCPU(milliValue(cpuRequest ?? limits['cpu']))),
    cpuPeriod: cpuCFSQuota ? BigInt(periodUs) : 0n,
    cpuQuota: cpuCFSQuota ? BigInt(quotaFromMilliCPU(milliValue(limits['cpu']), periodUs)) : 0n,
    memoryLimitInBytes: BigInt(value(limits['memory'])),
    // All processes of a container die together, not one of them.
    unified: cgroupVersion === 2 && !singleProcessOOMKill ? { 'memory.oom.group': '1' } : {},
  };
}

function noResources(): LinuxContainerResources {
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

/** Every page size of the node, 0 where nothing was asked for: a size that is not named would be unlimited. */
function hugepageLimits(sizes: readonly string[], limits: Limits): HugepageLimit[] {
  const asked = new Map<string, bigint>();
  for (const [name, amount] of Object.entries(limits)) {
    if (name.startsWith('hugepages-')) asked.set(hugePageSizeName(value(name.slice('hugepages-'.length))), BigInt(value(amount)));
  }
  return sizes.map((pageSize) => ({ pageSize, limit: asked.get(pageSize) ?? 0n }));
}

type Swap = Partial<Pick<LinuxContainerResources, 'memorySwapLimitInBytes' | 'unified'>>;

/** v1: memory and swap together are limited to the memory. v2: swap has a limit of its own. */
function swap(input: ContainerConfigInput, { memoryLimitInBytes, unified }: LinuxContainerResources): Swap {
  if (!input.hostInfo.swapControllerAvailable) return {};
  if (input.settings.cgroupVersion === 1) return { memorySwapLimitInBytes: memoryLimitInBytes };
  return { unified: { ...unified, 'memory.swap.max': String(swapBytes(input)) } };
}

/** LimitedSwap: of a burstable container's memory request, the share that it is of the node's memory, of the node's swap. */
function swapBytes({ pod, container, settings, hostInfo, node }: ContainerConfigInput): number {
  const { requests, limits } = container.resources ?? {};
  const request = requests?.['memory'];
  if (settings.memorySwapBehavior !== 'LimitedSwap' || isCriticalPod(pod) || qosClass(pod) !== 'Burstable') return 0;
  // Nothing asked for, or as much as the limit: no swap.
  if (compareQuantities(request, limits?.['memory']) === 0) return 0;
  const requestBytes = value(request);
  const { memoryBytes } = node.capacity;
  return memoryBytes <= 0 || requestBytes > memoryBytes ? 0 : Math.trunc((requestBytes / memoryBytes) * hostInfo.swapCapacityBytes);
}
