/** The object reference of node events. */
import type { ObjectReference } from './api.ts';

/**
 * The UID is the node's name, by which `kubectl describe node` selects events, too. The event recorder replaces it when it knows the Node's: an event
 * may come before the registration.
 */
export function nodeReference(nodeName: string): ObjectReference {
  return { kind: 'Node', namespace: '', name: nodeName, uid: nodeName };
}
