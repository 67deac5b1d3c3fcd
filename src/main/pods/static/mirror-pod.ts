/**
 * Mirror pods: the API objects that represent static pods. Builds them and decides what a static pod's mirror needs. Pure. Upstream:
 * pkg/kubelet/pod/mirror_client.go, and tryReconcileMirrorPods in pkg/kubelet/kubelet.go.
 */
import { configHashAnnotation, configMirrorAnnotation } from '../../../shared/kubernetes/annotations.ts';
import type { Pod } from '../../../shared/kubernetes/api.ts';
import type { Node } from '../../node/index.ts';
import { isDeleted } from '../../../shared/kubernetes/is-deleted.ts';

/** True when the mirror has the static pod's name and the hash of its current manifest. */
export function isMirrorOf(mirror: Pod, pod: Pod): boolean {
  const hash = mirror.metadata.annotations?.[configMirrorAnnotation];
  const { name, namespace } = pod.metadata;
  return mirror.metadata.name === name && mirror.metadata.namespace === namespace && hash !== undefined && hash === hashOf(pod);
}

/** Every static pod gets this annotation from its source. */
function hashOf(pod: Pod): string | undefined {
  return pod.metadata.annotations?.[configHashAnnotation];
}

export interface OwnerNode {
  readonly name: string;
  readonly uid: string;
}

/** The UID of the Node that owns the mirror pods. Undefined when there is none, or when it is being deleted and its mirror pods would go with it. */
export function ownerUID(node: Pick<Node, 'metadata'> | null | undefined): string | undefined {
  return node && !node.metadata.deletionTimestamp ? node.metadata.uid : undefined;
}

/**
 * The object to create. Its owner is the Node, as the NodeRestriction admission plugin requires: the garbage collector removes it with the
 * Node. The server assigns the UID, and the status manager writes the status.
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
 * A mirror that is being deleted or has another manifest is deleted, and created again afterwards. A mirror without a static pod is deleted
 * only when `canDeleteOrphan`: every source has reported.
 */
export function computeMirrorAction(pod: Pod | undefined, mirror: Pod | undefined, canDeleteOrphan: boolean): MirrorAction {
  if (!pod) return mirror && canDeleteOrphan ? 'delete' : 'none';
  if (!mirror) return 'create';
  return isDeleted(mirror) || !isMirrorOf(mirror, pod) ? 'delete' : 'none';
}
