/** Records the events of a pod's sync, with upstream's references to the pod, its containers and the node. */

import type { RecordedEvent } from '../../../shared/contracts/event.ts';
import type { ObjectReference, Pod } from '../../../shared/kubernetes/api.ts';
import { containerFieldPath } from '../../../shared/kubernetes/container-field-path.ts';
import { nodeReference } from '../../../shared/kubernetes/node-reference.ts';
import type { TaskChannelClient } from './task-channel-client.ts';

/** Identifies a pod, including a pod that only the runtime knows. */
export interface TaskPod {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  /** Null when the spec is unknown. Gives the field paths of the containers. */
  readonly pod: Pod | null;
}

export function toTaskPod(pod: Pod): TaskPod {
  const { name, namespace, uid } = pod.metadata;
  return { name, namespace, uid, pod };
}

/** Sends the events of one pod to main over the task's channel. */
export class PodEvents {
  readonly #channel: Pick<TaskChannelClient, 'event'>;
  readonly #identity: TaskPod;

  constructor(channel: Pick<TaskChannelClient, 'event'>, identity: TaskPod) {
    this.#channel = channel;
    this.#identity = identity;
  }

  onPod(type: RecordedEvent['type'], reason: string, message: string): void {
    this.#channel.event({ object: this.referenceToPod(), type, reason, message });
  }

  onNode(nodeName: string, type: RecordedEvent['type'], reason: string, message: string): void {
    this.#channel.event({ object: nodeReference(nodeName), type, reason, message });
  }

  /**
   * Replaces `containerID` in the message by the container's name. Otherwise each instance would produce a distinct event, and repeats
   * could not be counted.
   */
  onContainer(container: string, type: RecordedEvent['type'], reason: string, message: string, containerID = ''): void {
    const object = this.referenceTo(container);
    if (!object) return;
    const text = containerID === '' ? message : message.replaceAll(containerID, container);
    this.#channel.event({ object, type, reason, message: text });
  }

  /** Returns null when the spec does not have the container: such an event is dropped (upstream's FilterEventRecorder). */
  referenceTo(container: string): ObjectReference | null {
    const fieldPath = containerFieldPath(this.#identity.pod, container);
    return fieldPath === undefined ? null : { ...this.referenceToPod(), fieldPath };
  }

  referenceToPod(): ObjectReference {
    const { name, namespace, uid, pod } = this.#identity;
    const resourceVersion = pod?.metadata.resourceVersion;
    return { kind: 'Pod', apiVersion: 'v1', name, namespace, uid, ...(resourceVersion === undefined ? {} : { resourceVersion }) };
  }
}
