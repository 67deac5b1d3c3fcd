/** How events name the node. */
import type { ObjectReference } from './api.ts';

/**
 * What events about the node name as their object. Its UID is the node's name: so `kubectl describe node` finds them, and they can be
 * recorded before the node is registered.
 */
export function nodeReference(nodeName: string): ObjectReference {
  return { kind: 'Node', namespace: '', name: nodeName, uid: nodeName };
}
