/**
 * Computes a pod's pending resize, its condition and its event. Every resize is infeasible in this kubelet. Pure. Upstream:
 * handlePodResourcesResize in pkg/kubelet/allocation, pkg/kubelet/events/resize.go.
 */
import type { Container, Pod, ResourceRequirements } from '../../shared/kubernetes/api.ts';
import { priorityBucket, type PriorityBucket } from '../../shared/kubernetes/priority-bucket.ts';
import { toGoJSON } from '../../shared/kubernetes/go-text.ts';

export interface PendingResize {
  readonly reason: 'Infeasible';
  readonly message: string;
  /** The desired resources as JSON. */
  readonly desired: string;
  readonly priorityBucket: PriorityBucket;
}

const message = 'In-place resize is not supported.';

/** `allocated` is the pod with its allocated resources, or the same object when they equal its spec's. Null when nothing is pending. */
export function computePendingResize(pod: Pod, allocated: Pod): PendingResize | null {
  if (allocated === pod) return null;
  return {
    reason: 'Infeasible',
    message,
    desired: toGoJSON({ pod: pod.spec.resources, ...containersOf(pod) }),
    priorityBucket: priorityBucket(pod.spec.priority),
  };
}

export function resizeEventMessage(pod: Pod, { reason, message: error }: PendingResize): string {
  return `Pod resize ${reason}: ${toGoJSON({ ...containersOf(pod), generation: pod.metadata.generation ?? 0, error })}`;
}

/** True when an earlier kubelet reported the condition for this generation of the pod: then no second event is recorded. */
export function isAlreadyReported({ metadata, status }: Pod, { reason }: PendingResize): boolean {
  const condition = status?.conditions?.find(({ type }) => type === 'PodResizePending');
  return condition?.reason === reason && condition.observedGeneration === metadata.generation;
}

function containersOf({ spec }: Pod): object {
  const { initContainers = [], containers } = spec;
  return { ...(initContainers.length > 0 && { initContainers: initContainers.map(summary) }), containers: containers.map(summary) };
}

function summary({ name, resources = {} }: Container): object {
  return { name, resources: inGoOrder(resources) };
}

function inGoOrder({ limits, requests, claims }: ResourceRequirements): ResourceRequirements {
  const sorted = (list: Readonly<Record<string, string>>) => Object.fromEntries(Object.entries(list).sort(([a], [b]) => (a < b ? -1 : 1)));
  return { ...(limits && { limits: sorted(limits) }), ...(requests && { requests: sorted(requests) }), ...(claims && { claims }) };
}
