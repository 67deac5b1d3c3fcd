/** The object reference of node events. */
import type { ObjectReference } from './api.ts';

/**
 * The UID is the node's name. `kubectl describe node` selects events by this value, and the kubelet can record events before the
 * node is registered.
 */
export function nodeReference(nodeName: string): ObjectReference {
  return { kind: 'Node', namespace: '', name: nodeName, uid: nodeName };
}
