/**
 * Computes the cgroup values that depend on no pod: those of the cgroup of all pods (here under `Guaranteed`, because the Guaranteed pods are directly below it)
 * and of the cgroups of the other QoS classes. Pure. Main adds the values that depend on the pods, and sets all of them. The sync pool creates a missing cgroup
 * before a pod starts.
 * Upstream: Start in pkg/kubelet/cm/qos_container_manager_linux.go.
 */
import type { QosClass } from '../kubernetes/qos-class.ts';
import { minShares, type CgroupResources } from './cgroup-values.ts';

/** A limit that is never reached (upstream setHugePagesUnbounded). A double represents a power of two exactly. */
const unboundedBytes = 2 ** 62;

/** @param hugePageSizes of this host, such as `2MB` */
export function fixedQosResources(hugePageSizes: readonly string[]): Readonly<Record<QosClass, CgroupResources>> {
  const hugePageLimits = Object.fromEntries(hugePageSizes.map((size) => [size, unboundedBytes]));
  return { Guaranteed: { hugePageLimits }, Burstable: { hugePageLimits }, BestEffort: { hugePageLimits, cpuShares: minShares } };
}
