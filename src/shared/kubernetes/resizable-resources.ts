/** What a resize changes: the CPU and memory of a container or of a pod. Pure. Upstream: containerResourcesFromRequirements in pkg/kubelet/kuberuntime. */
import type { Container, ResourceRequirements } from './api.ts';
import { isZeroQuantity, milliValue, tryParseQuantity, value } from './quantity.ts';

/** Bytes and thousandths of a CPU; 0: none. */
export interface ResizableResources {
  readonly memoryLimit: number;
  readonly memoryRequest: number;
  readonly cpuLimit: number;
  readonly cpuRequest: number;
}

/** Throws a QuantityError for an invalid quantity. */
export function resizableResources({ limits, requests }: ResourceRequirements = {}): ResizableResources {
  return {
    memoryLimit: value(limits?.['memory']),
    memoryRequest: value(requests?.['memory']),
    cpuLimit: milliValue(limits?.['cpu']),
    cpuRequest: milliValue(requests?.['cpu']),
  };
}

export function isSameResizable(a: ResizableResources, b: ResizableResources): boolean {
  return (
    a.memoryLimit === b.memoryLimit && a.memoryRequest === b.memoryRequest && a.cpuLimit === b.cpuLimit && a.cpuRequest === b.cpuRequest
  );
}

/** Gives a container without a limit of its own the limit of its pod. Upstream: GetLimits in pkg/kubelet/util. */
export function withPodLimits(resources: ResourceRequirements, podLevel: ResourceRequirements | undefined): ResourceRequirements {
  const inherited = ['cpu', 'memory'].flatMap((name) => {
    const limit = podLevel?.limits?.[name];
    return limit !== undefined && !isZero(limit) && isZero(resources.limits?.[name]) ? [[name, limit] as const] : [];
  });
  return inherited.length === 0 ? resources : { ...resources, limits: { ...resources.limits, ...Object.fromEntries(inherited) } };
}

/** False for an invalid quantity, so that withPodLimits keeps it as it is. */
function isZero(text = '0'): boolean {
  const quantity = tryParseQuantity(text);
  return quantity !== null && isZeroQuantity(quantity);
}

/** Whether a change of the container's memory restarts it, by its resize policy. */
export function restartsForMemory({ resizePolicy = [] }: Container): boolean {
  return resizePolicy.some(({ resourceName, restartPolicy }) => resourceName === 'memory' && restartPolicy === 'RestartContainer');
}
