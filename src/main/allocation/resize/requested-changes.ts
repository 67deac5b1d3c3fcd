/** Computes which resources an update of a pod asks to resize, for a metric. Pure. Upstream: recordContainerResizeOperations in pkg/kubelet/kubelet.go. */
import type { Container, Pod } from '../../../shared/kubernetes/api.ts';
import { compareQuantities, isZeroQuantity } from '../../../shared/kubernetes/quantity.ts';
import { toAllocation, withAllocation } from '../pod-allocation.ts';

export interface RequestedChange {
  readonly resource: 'memory' | 'cpu';
  readonly requirement: 'requests' | 'limits';
  readonly operation: 'add' | 'remove' | 'increase' | 'decrease';
}

const allResources = { podLevel: true, initContainers: true, memoryBackedVolumes: true };

/** Whether both versions of the pod ask for the same amounts of what can be resized. */
export function isSameRequest(before: Pod, after: Pod): boolean {
  return withAllocation(after, toAllocation(before, allResources), allResources) === after;
}

export function requestedChanges(before: Pod, after: Pod): RequestedChange[] {
  const all = ({ spec }: Pod) => [...(spec.initContainers ?? []), ...spec.containers];
  const previous = new Map(all(before).map((container) => [container.name, container]));
  return all(after).flatMap((container) => changesOf(previous.get(container.name), container));
}

function changesOf(before: Container | undefined, after: Container): RequestedChange[] {
  if (!before || before.resources === after.resources) return [];
  return (['memory', 'cpu'] as const).flatMap((resource) =>
    (['requests', 'limits'] as const).flatMap((requirement) => {
      const operation = operationOf(before.resources?.[requirement]?.[resource], after.resources?.[requirement]?.[resource]);
      return operation ? [{ resource, requirement, operation }] : [];
    }),
  );
}

function operationOf(before: string | undefined, after: string | undefined): RequestedChange['operation'] | null {
  if (isZeroQuantity(after)) return isZeroQuantity(before) ? null : 'remove';
  if (isZeroQuantity(before)) return 'add';
  const order = compareQuantities(after, before);
  return order === 0 ? null : order < 0 ? 'decrease' : 'increase';
}
