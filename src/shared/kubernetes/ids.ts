/** Identifiers, branded so that no container ID passes for a pod UID. */
import type { Pod } from './api.ts';

export type PodUID = string & { readonly __brand: 'PodUID' };
/** As the runtime names it: without the `containerd://` that the API shows before it. */
export type ContainerID = string & { readonly __brand: 'ContainerID' };
export type SandboxID = string & { readonly __brand: 'SandboxID' };

export function podUID(pod: Pod): PodUID {
  return pod.metadata.uid as PodUID;
}

/** `<name>_<namespace>`: what a static pod keeps when its UID changes (upstream pkg/kubelet/container GetPodFullName). */
export function podFullName(pod: { readonly metadata: { readonly name: string; readonly namespace: string } }): string {
  return `${pod.metadata.name}_${pod.metadata.namespace}`;
}
