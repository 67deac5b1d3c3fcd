/** The object reference of node events. */
import type { ObjectReference } from './api.ts';

/**
 * Uses the node's name as the UID, because `kubectl describe node` also selects events by the name. The event recorder replaces it by the Node's UID once
 * that is known: an event may come before the registration of the node.
 */
export function nodeReference(nodeName: string): ObjectReference {
  return { kind: 'Node', namespace: '', name: nodeName, uid: nodeName };
}
