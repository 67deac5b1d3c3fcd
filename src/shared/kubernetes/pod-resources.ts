/**
 * What a pod as a whole asks for and is limited to (upstream component-helpers resource/helpers.go): the sum of its containers and
 * sidecars, or the most that its init containers need at a time, whichever is more; pod-level resources override; overhead
 * comes on top.
 */
import type { Pod, PodSpec } from './api.ts';
import { addQuantities, compareQuantities, isZeroQuantity, parseQuantity, type Quantity } from './quantity.ts';
import { isRestartableInitContainer } from './restart-policy.ts';

/** Quantities by resource name. A name that is absent was not asked for, which is not the same as zero. */
export type ResourceAmounts = Readonly<Record<string, Quantity>>;

export interface PodResourcesOptions {
  /** Leave out the runtime class's overhead. */
  readonly excludeOverhead?: boolean;
  /** Only what the containers say, even where the pod has resources of its own. */
  readonly skipPodLevel?: boolean;
  /** Told of each container's effective amounts: an init container's include the sidecars started before it. */
  readonly onContainer?: (amounts: ResourceAmounts, type: 'container' | 'initContainer') => void;
}

type PodWithSpec = { readonly spec: Pod['spec'] };
type Kind = 'requests' | 'limits';

export function podRequests(pod: PodWithSpec, options: PodResourcesOptions = {}): ResourceAmounts {
  const requests = aggregate(pod.spec, 'requests', options);
  if (!options.skipPodLevel) Object.assign(requests, podLevel(pod.spec, 'requests'));
  return options.excludeOverhead ? requests : add(requests, amountsOf(pod.spec.overhead));
}

export function podLimits(pod: PodWithSpec, options: PodResourcesOptions = {}): ResourceAmounts {
  const limits = aggregate(pod.spec, 'limits', options);
  if (!options.skipPodLevel) Object.assign(limits, podLevel(pod.spec, 'limits'));
  if (options.excludeOverhead) return limits;
  for (const [name, overhead] of Object.entries(amountsOf(pod.spec.overhead))) {
    // What has no limit stays without one.
    const limit = amountOf(limits, name);
    if (limit && !isZeroQuantity(limit)) limits[name] = addQuantities(limit, overhead);
  }
  return limits;
}

/** CPU, memory and hugepages are what a pod may ask for as a whole. */
export function isPodLevelResource(name: string): boolean {
  return name === 'cpu' || name === 'memory' || name.startsWith('hugepages-');
}

/** The pod has resources of its own that count. */
export function hasPodLevelResources(spec: PodSpec): boolean {
  return [...Object.keys(spec.resources?.requests ?? {}), ...Object.keys(spec.resources?.limits ?? {})].some(isPodLevelResource);
}

type Amounts = Record<string, Quantity>;

function aggregate(spec: PodSpec, kind: Kind, { onContainer }: PodResourcesOptions): Amounts {
  let sum: Amounts = {};
  for (const container of spec.containers) {
    const own = amountsOf(container.resources?.[kind]);
    onContainer?.(own, 'container');
    sum = add(sum, own);
  }
  let sidecars: Amounts = {};
  let mostOfInit: Amounts = {};
  for (const container of spec.initContainers ?? []) {
    const own = amountsOf(container.resources?.[kind]);
    let atOnce = add(own, sidecars);
    if (isRestartableInitContainer(container)) {
      sum = add(sum, own);
      sidecars = add(sidecars, own);
      atOnce = sidecars;
    }
    onContainer?.(atOnce, 'initContainer');
    mostOfInit = max(mostOfInit, atOnce);
  }
  return max(sum, mostOfInit);
}

function podLevel(spec: PodSpec, kind: Kind): Amounts {
  return Object.fromEntries(Object.entries(amountsOf(spec.resources?.[kind])).filter(([name]) => isPodLevelResource(name)));
}

function amountsOf(list: Readonly<Record<string, string>> | undefined): Amounts {
  return Object.fromEntries(Object.entries(list ?? {}).map(([name, text]) => [name, parseQuantity(text)]));
}

/** A resource may be named like what every object inherits. */
function amountOf(list: ResourceAmounts, name: string): Quantity | undefined {
  return Object.hasOwn(list, name) ? list[name] : undefined;
}

function add(list: Amounts, more: ResourceAmounts): Amounts {
  const sum = { ...list };
  for (const [name, quantity] of Object.entries(more)) {
    const known = amountOf(sum, name);
    sum[name] = known ? addQuantities(known, quantity) : quantity;
  }
  return sum;
}

function max(list: Amounts, other: ResourceAmounts): Amounts {
  const most = { ...list };
  for (const [name, quantity] of Object.entries(other)) {
    const known = amountOf(most, name);
    if (!known || compareQuantities(quantity, known) > 0) most[name] = quantity;
  }
  return most;
}
