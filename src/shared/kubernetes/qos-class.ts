/**
 * Computes the quality-of-service class of a pod (upstream pkg/apis/core/v1/helper/qos). The class determines the parent of the
 * pod's cgroup and the OOM score.
 */
import type { Pod, PodSpec, ResourceRequirements } from './api.ts';
import { hasPodLevelResources } from './pod-resources.ts';
import { parseQuantity } from './quantity.ts';

export const qosClasses = ['Guaranteed', 'Burstable', 'BestEffort'] as const;
export type QosClass = (typeof qosClasses)[number];

/** Returns the class in the pod's status, which is immutable once the API server sets it, or the computed class. */
export function qosClass(pod: Pick<Pod, 'spec' | 'status'>): QosClass {
  const persisted = pod.status?.qosClass;
  return persisted ? (persisted as QosClass) : computeQosClass(pod.spec);
}

/** The class depends only on these resources. A pod that requests only a GPU is BestEffort. */
const computeResources = ['cpu', 'memory'] as const;

/**
 * BestEffort pods have no requests and no limits. Guaranteed pods have limits for both resources on every container, and their
 * total requests equal their total limits. All other pods are Burstable. Pod-level resources replace the containers' resources.
 */
export function computeQosClass(spec: PodSpec): QosClass {
  const allResources: readonly (ResourceRequirements | undefined)[] = hasPodLevelResources(spec)
    ? [spec.resources]
    : [...spec.containers, ...(spec.initContainers ?? [])].map((container) => container.resources);
  const requests = sumOfPositive(allResources.map((resources) => resources?.requests));
  const limits = sumOfPositive(allResources.map((resources) => resources?.limits));
  if (requests.size === 0 && limits.size === 0) return 'BestEffort';
  const limitedEverywhere = allResources.every((resources) => hasBothLimits(resources));
  const sameEverywhere = requests.size === limits.size && [...requests].every(([name, nanos]) => limits.get(name) === nanos);
  return limitedEverywhere && sameEverywhere ? 'Guaranteed' : 'Burstable';
}

function hasBothLimits(resources: ResourceRequirements | undefined): boolean {
  return computeResources.every((name) => isPositive(resources?.limits?.[name]));
}

function isPositive(quantity: string | undefined): boolean {
  return quantity !== undefined && parseQuantity(quantity).nanos > 0n;
}

type ResourceMap = ResourceRequirements['requests'];

function sumOfPositive(lists: readonly ResourceMap[]): Map<string, bigint> {
  const sum = new Map<string, bigint>();
  for (const list of lists) {
    for (const name of computeResources) {
      const quantity = list?.[name];
      if (quantity === undefined || !isPositive(quantity)) continue;
      sum.set(name, (sum.get(name) ?? 0n) + parseQuantity(quantity).nanos);
    }
  }
  return sum;
}
