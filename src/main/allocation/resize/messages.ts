/** The messages of a resize's events. Pure. Upstream: pkg/kubelet/events/resize.go; unlike there, the pod's own resources are part of them. */
import type { Container, Pod, ResourceRequirements } from '../../../shared/kubernetes/api.ts';
import { toGoJSON } from '../../../shared/kubernetes/go-text.ts';

export type ResizeStage = 'started' | 'completed' | 'error' | 'Deferred' | 'Infeasible';

/** @param generation the pod's generation that asks for this resize */
export function resizeMessage(step: ResizeStage, { spec }: Pod, generation: number | undefined, error?: string): string {
  const { resources, initContainers = [], containers } = spec;
  const summary = {
    ...(resources && { resources: inGoOrder(resources) }),
    ...(initContainers.length > 0 && { initContainers: initContainers.map(summaryOf) }),
    containers: containers.map(summaryOf),
    generation: generation ?? 0,
    ...(error && { error }),
  };
  return `Pod resize ${step}: ${toGoJSON(summary)}`;
}

function summaryOf({ name, resources = {} }: Container): object {
  return { name, resources: inGoOrder(resources) };
}

/** The order in which Go encodes the struct's fields, and the keys of maps. */
function inGoOrder({ limits, requests, claims }: ResourceRequirements): ResourceRequirements {
  const sorted = (list: Readonly<Record<string, string>>) => Object.fromEntries(Object.entries(list).sort(([a], [b]) => (a < b ? -1 : 1)));
  return { ...(limits && { limits: sorted(limits) }), ...(requests && { requests: sorted(requests) }), ...(claims && { claims }) };
}
