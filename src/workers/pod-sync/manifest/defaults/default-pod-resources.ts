/** Applies the defaults of pod-level resources: missing requests come from the sum of the containers or from the pod-level limits. */
import type { Draft, PodSpec } from '../../../../shared/kubernetes/api.ts';
import { isPodLevelResource, podLimits, podRequests } from '../../../../shared/kubernetes/pod-resources.ts';
import { formatQuantity } from '../../../../shared/kubernetes/quantity.ts';

/** Runs after the containers' requests have their defaults. */
export function defaultPodResources(spec: Draft<PodSpec>): void {
  const { resources } = spec;
  if (!resources) return;
  if (hasAny(resources.limits) || hasAny(resources.requests)) defaultHugePageLimits(spec, resources);
  if (hasAny(resources.limits)) defaultRequests(spec, resources);
}

type Resources = NonNullable<Draft<PodSpec>['resources']>;
const containersOnly = { skipPodLevel: true, excludeOverhead: true };

function defaultHugePageLimits(spec: Draft<PodSpec>, resources: Resources): void {
  const limits = { ...resources.limits };
  for (const [name, quantity] of Object.entries(podLimits({ spec }, containersOnly))) {
    const isGiven = name in limits || name in (resources.requests ?? {});
    if (name.startsWith('hugepages-') && !isGiven) limits[name] = formatQuantity(quantity);
  }
  if (hasAny(limits)) resources.limits = limits;
}

function defaultRequests(spec: Draft<PodSpec>, resources: Resources): void {
  const requests = { ...resources.requests };
  for (const [name, quantity] of Object.entries(podRequests({ spec }, containersOnly))) {
    // Hugepages cannot be overcommitted, so their requests come from the limits below.
    if (isPodLevelResource(name) && !name.startsWith('hugepages-')) requests[name] ??= formatQuantity(quantity);
  }
  for (const [name, quantity] of Object.entries(resources.limits ?? {})) if (isPodLevelResource(name)) requests[name] ??= quantity;
  if (hasAny(requests)) resources.requests = requests;
}

function hasAny(list: Readonly<Record<string, string>> | undefined): boolean {
  return list !== undefined && Object.keys(list).length > 0;
}
