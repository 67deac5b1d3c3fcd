/** Computes the actions that a pod's sandbox and containers need, from the runtime's status and the spec. Pure. Called by syncPod. */
export { computePodActions } from './compute-pod-actions.ts';
export { findContainerStatus } from './pod-actions.ts';
export type { ContainerResize, KeptContainer, ResizeActions, ResizedResource, VolumeResize } from './resizes.ts';
export type { ContainersToStart, ContainerToKill, ContainerToReset, KillReason, PodActions, PodActionsInput } from './pod-actions.ts';
