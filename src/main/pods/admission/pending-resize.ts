/**
 * A resize that is asked for, and that this kubelet cannot do: what its condition and its event say. Pure. Upstream: handlePodResourcesResize in
 * pkg/kubelet/allocation, pkg/kubelet/events/resize.go.
 */
import type { Container, Pod, ResourceRequirements } from '../../../shared/kubernetes/api.ts';
import { toGoJSON } from '../../../shared/kubernetes/go-text.ts';

export interface PendingResize {
  readonly reason: 'Infeasible';
  readonly message: string;
  /** What is asked for. */
  readonly desired: string;
}

const message = 'In-place resize is not supported.';

/** `allocated` is the pod with the resources that it was admitted with, the same object if it asks for no others. Null: nothing is pending. */
export function computePendingResize(pod: Pod, allocated: Pod): PendingResize | null {
  if (allocated === pod) return null;
  return { reason: 'Infeasible', message, desired: toGoJSON({ pod: pod.spec.resources, ...containersOf(pod) }) };
}

export function resizeEventMessage(pod: Pod, { reason, message: error }: PendingResize): string {
  return `Pod resize ${reason}: ${toGoJSON({ ...containersOf(pod), generation: pod.metadata.generation ?? 0, error })}`;
}

/** An earlier kubelet has said so of this version of the pod. */
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
