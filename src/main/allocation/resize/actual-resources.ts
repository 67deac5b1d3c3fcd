/** The resources that a running container really has, as the runtime reports them. Pure. Upstream: convertContainerStatusResources in kubelet_pods.go. */
import type { RuntimeContainerResources } from '../../../shared/contracts/runtime-status.ts';
import type { ResourceRequirements } from '../../../shared/kubernetes/api.ts';
import { formatQuantity, milliValue, quantityOf } from '../../../shared/kubernetes/quantity.ts';

/** Below these minimums the runtime's values do not reflect the requested ones (upstream cm.MinMilliCPULimit, cm.MinShares). */
const minMilliCPULimit = 10;
const minShares = 2;

/**
 * @param resources of the container in the spec; they may include limits that the container inherits from its pod
 * @param memoryRequest the request that is in force, which the runtime does not report
 */
export function actualResources(
  resources: ResourceRequirements,
  actual: RuntimeContainerResources,
  memoryRequest: string | undefined,
): ResourceRequirements {
  const { requests, limits } = resources;
  return {
    ...resources,
    ...(limits && { limits: { ...limits, ...actualLimits(limits, actual) } }),
    ...(requests && {
      requests: {
        ...requests,
        ...(memoryRequest && 'memory' in requests && { memory: memoryRequest }),
        ...actualRequests(requests, actual),
      },
    }),
  };
}

type Amounts = Readonly<Record<string, string>>;

function actualLimits(requested: Amounts, { cpuQuota, cpuPeriod, memoryLimitBytes }: RuntimeContainerResources): Amounts {
  const milliCPU = cpuPeriod > 0 ? Math.floor((cpuQuota * 1000) / cpuPeriod) : 0;
  const requestedMilliCPU = milliValue(requested.cpu);
  return {
    ...(milliCPU > 0 && milliCPU !== requestedMilliCPU && Math.max(milliCPU, requestedMilliCPU) > minMilliCPULimit
      ? { cpu: formatMilliCPU(milliCPU) }
      : {}),
    ...(memoryLimitBytes > 0 ? { memory: formatQuantity(quantityOf(memoryLimitBytes, 'BinarySI')) } : {}),
  };
}

function actualRequests(requested: Amounts, { cpuShares }: RuntimeContainerResources): Amounts {
  // Shares are coarser than milli-CPUs: equal shares mean an equal request.
  const requestedShares = Math.max(minShares, Math.floor((milliValue(requested.cpu) * 1024) / 1000));
  if (cpuShares <= 0 || cpuShares === requestedShares || !('cpu' in requested)) return {};
  return { cpu: formatMilliCPU(Math.ceil((cpuShares * 1000) / 1024)) };
}

function formatMilliCPU(milli: number): string {
  return milli % 1000 === 0 ? String(milli / 1000) : `${milli}m`;
}
