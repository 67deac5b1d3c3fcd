/**
 * The node's resources that pods have: the allocation manager, which records admitted pods with their resources, resizes in place, and the providers of
 * exclusive resources such as CPUs, devices and the IDs of user namespaces. Upstream: pkg/kubelet/allocation, pkg/kubelet/userns.
 */
export { asActuated } from './actuated-resources.ts';
export { asAllocated, type AllocatedPod } from './allocated-pod.ts';
export { AllocationManager, type AllocationManagerOptions } from './allocation-manager.ts';
export { openAllocationProviders } from './allocation-providers.ts';
export { ExclusiveAllocations } from './exclusive-allocations.ts';
export type { AllocationRefusal } from './provider.ts';
export { actualResources } from './resize/actual-resources.ts';
export { ResizeConditions, type PodResizeConditions, type ResizeCondition } from './resize/resize-conditions.ts';
export { ResizeManager } from './resize/resize-manager.ts';
