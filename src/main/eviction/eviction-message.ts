/**
 * Computes the message of an eviction under pressure, and the annotations of its event. Pure. Upstream: evictionMessage in
 * pkg/kubelet/eviction/helpers.go.
 */
import type { StarvedResource } from '../../shared/contracts/eviction.ts';
import type { Pod } from '../../shared/kubernetes/api.ts';
import type { AllocatedPod } from '../allocation/index.ts';
import { hasPodLevelResources } from '../../shared/kubernetes/pod-resources.ts';
import { compareQuantities, formatQuantity, quantityOf, toQuantity, type Quantity } from '../../shared/kubernetes/quantity.ts';
import type { Observations } from './observe.ts';
import type { ContainerStats, PodStats } from './pod-stats.ts';
import { formatOf, resourceOf } from './signals.ts';
import { thresholdQuantity, type Threshold } from './thresholds.ts';

export interface EvictionMessage {
  readonly message: string;
  readonly annotations: Readonly<Record<string, string>>;
}

/** Names the containers that use more of the resource than they request. Ephemeral containers have no requests and are never named. */
export function evictionMessage(
  resource: StarvedResource,
  pod: AllocatedPod,
  stats: PodStats | undefined,
  thresholds: readonly Threshold[],
  observations: Observations,
): EvictionMessage {
  const cause = `The node was low on resource: ${resource}. ${thresholdText(resource, thresholds, observations)}`;
  if (!stats || stats.onlyProcesses) return { message: cause, annotations: {} };
  const offendingPod = podExcess(resource, pod, stats);
  const offenders = stats.containers.flatMap((container) => containerExcess(resource, pod, container));
  const message = cause + (offendingPod?.text ?? '') + offenders.map(({ text }) => text).join('');
  const annotations = {
    ...(offendingPod && { offending_pod: pod.metadata.name, offending_pod_usage: offendingPod.usage }),
    offending_containers: offenders.map(({ name }) => name).join(','),
    offending_containers_usage: offenders.map(({ usage }) => usage).join(','),
    starved_resource: resource,
  };
  return { message, annotations };
}

/** Describes the first threshold of the resource whose signal was observed. */
function thresholdText(resource: StarvedResource, thresholds: readonly Threshold[], observations: Observations): string {
  for (const { signal, value } of thresholds) {
    const observed = resourceOf(signal) === resource ? observations.get(signal) : undefined;
    if (!observed) continue;
    const available = formatQuantity(quantityOf(observed.available, formatOf(resource)));
    return `Threshold quantity: ${formatQuantity(thresholdQuantity(value, observed.capacity))}, available: ${available}. `;
  }
  return '';
}

interface Excess {
  readonly name: string;
  readonly usage: string;
  readonly text: string;
}

/** A pod with a pod-level request for memory is always named. */
function podExcess(resource: StarvedResource, pod: AllocatedPod, { memoryBytes }: PodStats): Excess | undefined {
  const request = pod.spec.resources?.requests?.[resource];
  if (resource !== 'memory' || !hasPodLevelResources(pod.spec) || request === undefined || memoryBytes === undefined) return undefined;
  return excess('Pod', pod.metadata.name, quantityOf(memoryBytes, 'BinarySI'), toQuantity(request), resource);
}

function containerExcess(resource: StarvedResource, { spec }: Pod, stats: ContainerStats): Excess[] {
  const container = [...spec.containers, ...(spec.initContainers ?? [])].find(({ name }) => name === stats.name);
  const usedBytes = container && containerUsage(resource, stats);
  if (usedBytes === undefined) return [];
  const usage = quantityOf(usedBytes, 'BinarySI');
  const request = toQuantity(container?.resources?.requests?.[resource]);
  return compareQuantities(usage, request) > 0 ? [excess('Container', stats.name, usage, request, resource)] : [];
}

/** Returns undefined when the usage is not known, or when containers do not account for the resource, as for inodes and process IDs. */
function containerUsage(resource: StarvedResource, { memoryBytes, rootfs, logs }: ContainerStats): number | undefined {
  if (resource === 'memory') return memoryBytes;
  if (resource !== 'ephemeral-storage' || rootfs?.usedBytes === undefined || logs?.usedBytes === undefined) return undefined;
  return rootfs.usedBytes + logs.usedBytes;
}

function excess(kind: string, name: string, used: Quantity, request: Quantity, resource: StarvedResource): Excess {
  const usage = formatQuantity(used);
  const text = `${kind} ${name} was using ${usage}, request is ${formatQuantity(request)}, has larger consumption of ${resource}. `;
  return { name, usage, text };
}
