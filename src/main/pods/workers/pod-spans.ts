/** The spans of a pod worker's steps, with upstream's names and attributes (SyncPod and others in pkg/kubelet/kubelet.go). Pure. */
import type { Pod } from '../../../shared/kubernetes/api.ts';
import type { PodUID } from '../../../shared/kubernetes/ids.ts';
import type { Attributes } from '../../../shared/tracing/index.ts';

const scope = 'k8s.io/kubernetes/pkg/kubelet';

/** Why a pod is synced (upstream: kubetypes.SyncPodType). */
export type UpdateType = 'create' | 'update' | 'sync';

export interface TracedPod {
  readonly uid: PodUID;
  readonly name: string;
  readonly namespace: string;
}

interface PodSpan {
  readonly scope: string;
  readonly name: string;
  readonly attributes: Attributes;
}

export function syncPodSpan(pod: TracedPod, updateType: UpdateType): PodSpan {
  return { scope, name: 'syncPod', attributes: { ...podAttributes(pod), 'k8s.pod.update_type': updateType } };
}

export function syncTerminatingPodSpan(pod: TracedPod): PodSpan {
  return { scope, name: 'syncTerminatingPod', attributes: podAttributes(pod) };
}

export function syncTerminatedPodSpan(pod: TracedPod): PodSpan {
  return { scope, name: 'syncTerminatedPod', attributes: podAttributes(pod) };
}

/** The first sync of a worker creates the pod; a later one is an update when the pod has changed since. */
export function updateTypeOf(pod: Pod, lastSynced: Pod | null): UpdateType {
  if (lastSynced === null) return 'create';
  return pod === lastSynced ? 'sync' : 'update';
}

function podAttributes({ uid, name, namespace }: TracedPod): Attributes {
  return { 'k8s.pod.uid': uid, 'k8s.pod': `${namespace}/${name}`, 'k8s.pod.name': name, 'k8s.namespace.name': namespace };
}
