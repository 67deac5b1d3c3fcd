/**
 * The values of the cgroup of all pods (here under `Guaranteed`, whose pods are directly below it) and of the cgroups of the other QoS classes that depend on
 * no pod. Pure. Main adds what depends on the pods, and sets the values; the sync pool creates a cgroup that is missing before a pod starts.
 * Upstream: Start in pkg/kubelet/cm/qos_container_manager_linux.go.
 */
import type { QosClass } from '../kubernetes/qos-class.ts';
import { minShares, type CgroupResources } from './cgroup-values.ts';

/** Large enough to never limit (upstream setHugePagesUnbounded). A power of two, which a double represents exactly. */
const unboundedBytes = 2 ** 62;

/** @param hugePageSizes of this host, such as `2MB` */
export function fixedQosResources(hugePageSizes: readonly string[]): Readonly<Record<QosClass, CgroupResources>> {
  const hugePageLimits = Object.fromEntries(hugePageSizes.map((size) => [size, unboundedBytes]));
  return { Guaranteed: { hugePageLimits }, Burstable: { hugePageLimits }, BestEffort: { hugePageLimits, cpuShares: minShares } };
}
