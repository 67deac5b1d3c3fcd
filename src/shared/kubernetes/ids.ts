/** Identifier types. They are branded, so the compiler rejects a container ID where a pod UID belongs. */
import type { Pod } from './api.ts';

export type PodUID = string & { readonly __brand: 'PodUID' };
/** The runtime's ID, without the `containerd://` prefix of the API. */
export type ContainerID = string & { readonly __brand: 'ContainerID' };
export type SandboxID = string & { readonly __brand: 'SandboxID' };

export function podUID(pod: Pod): PodUID {
  return pod.metadata.uid as PodUID;
}

/** Returns `<name>_<namespace>`. A static pod keeps this name when its UID changes (upstream pkg/kubelet/container GetPodFullName). */
export function podFullName(pod: { readonly metadata: { readonly name: string; readonly namespace: string } }): string {
  return `${pod.metadata.name}_${pod.metadata.namespace}`;
}
