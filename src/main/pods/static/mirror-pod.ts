/**
 * Mirror pods: a static pod's image in the API server, by which the cluster sees it. What one looks like, and whose it is: pure. Upstream:
 * pkg/kubelet/pod/mirror_client.go, and tryReconcileMirrorPods in pkg/kubelet/kubelet.go.
 */
import { configHashAnnotation, configMirrorAnnotation } from '../../../shared/kubernetes/annotations.ts';
import type { Pod } from '../../../shared/kubernetes/api.ts';
import type { Node } from '../../node/index.ts';
import { isDeleted } from '../termination/is-deleted.ts';

/** It has the mirror annotation: it is never run itself (upstream: kubetypes.IsMirrorPod). */
export function isMirrorPod(pod: Pick<Pod, 'metadata'>): boolean {
  return pod.metadata.annotations?.[configMirrorAnnotation] !== undefined;
}

/** Of this static pod as it is now: its name, and the hash of its manifest. */
export function isMirrorOf(mirror: Pod, pod: Pod): boolean {
  const hash = mirror.metadata.annotations?.[configMirrorAnnotation];
  const { name, namespace } = pod.metadata;
  return mirror.metadata.name === name && mirror.metadata.namespace === namespace && hash !== undefined && hash === hashOf(pod);
}

/** Every static pod has it from its source. */
function hashOf(pod: Pod): string | undefined {
  return pod.metadata.annotations?.[configHashAnnotation];
}

export interface OwnerNode {
  readonly name: string;
  readonly uid: string;
}

/** Of the Node that is to own mirror pods. Undefined: there is none, or it is being deleted, and they would go with it. */
export function ownerUID(node: Pick<Node, 'metadata'> | null | undefined): string | undefined {
  return node && !node.metadata.deletionTimestamp ? node.metadata.uid : undefined;
}

/**
 * The object to create. Its owner is the Node, as the NodeRestriction admission demands: the garbage collector removes it with the Node.
 * UID and status are the server's and the status manager's to give.
 */
export function toMirrorPod(pod: Pod, node: OwnerNode): object {
  const { name, namespace, labels, annotations } = pod.metadata;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace,
      ...(labels ? { labels } : {}),
      annotations: { ...annotations, [configMirrorAnnotation]: hashOf(pod) ?? '' },
      ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: node.name, uid: node.uid, controller: true }],
    },
    spec: pod.spec,
  };
}

export type MirrorAction = 'none' | 'create' | 'delete';

/**
 * What a full name needs. A mirror that is being deleted, or is of another manifest, goes, and is made anew once it is gone. One without a
 * static pod goes too, but only when `orphanMayGo`: every source has reported.
 */
export function computeMirrorAction(pod: Pod | undefined, mirror: Pod | undefined, orphanMayGo: boolean): MirrorAction {
  if (!pod) return mirror && orphanMayGo ? 'delete' : 'none';
  if (!mirror) return 'create';
  return isDeleted(mirror) || !isMirrorOf(mirror, pod) ? 'delete' : 'none';
}
