/** What events are about, and how upstream words them. */
import type { RecordedEvent } from '../../shared/contracts/event.ts';
import type { ObjectReference, Pod } from '../../shared/kubernetes/api.ts';
import { nodeReference } from '../../shared/kubernetes/node-reference.ts';
import type { TaskChannelClient } from './task-channel-client.ts';

/** A pod by name: also one of which only the runtime knows. */
export interface PodIdentity {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  /** Where the spec is known: for the field paths of its containers. */
  readonly pod: Pod | null;
}

export function identityOf(pod: Pod): PodIdentity {
  const { name, namespace, uid } = pod.metadata;
  return { name, namespace, uid, pod };
}

/** `spec.containers{app}`, also where the spec is not known. Undefined: the spec does not have it. */
function containerFieldPath(pod: Pod | null, container: string): string | undefined {
  if (!pod) return `spec.containers{${container}}`;
  const lists = ['containers', 'initContainers', 'ephemeralContainers'] as const;
  const list = lists.find((name) => pod.spec[name]?.some((one) => one.name === container));
  return list && `spec.${list}{${container}}`;
}

/** Records the events of one pod on the task's channel. */
export class PodEvents {
  readonly #channel: Pick<TaskChannelClient, 'event'>;
  readonly #identity: PodIdentity;

  constructor(channel: Pick<TaskChannelClient, 'event'>, identity: PodIdentity) {
    this.#channel = channel;
    this.#identity = identity;
  }

  onPod(type: RecordedEvent['type'], reason: string, message: string): void {
    this.#channel.event({ object: this.#reference(), type, reason, message });
  }

  onNode(nodeName: string, type: RecordedEvent['type'], reason: string, message: string): void {
    this.#channel.event({ object: nodeReference(nodeName), type, reason, message });
  }

  /**
   * `containerID` is replaced by the container's name where a runtime's message has it: each instance would otherwise make an event
   * of its own, and repeats could not be counted.
   */
  onContainer(container: string, type: RecordedEvent['type'], reason: string, message: string, containerID = ''): void {
    const object = this.referenceTo(container);
    if (!object) return;
    const text = containerID === '' ? message : message.replaceAll(containerID, container);
    this.#channel.event({ object, type, reason, message: text });
  }

  /** Null: no spec has the container, nobody can look it up (upstream's FilterEventRecorder). */
  referenceTo(container: string): ObjectReference | null {
    const fieldPath = containerFieldPath(this.#identity.pod, container);
    return fieldPath === undefined ? null : { ...this.#reference(), fieldPath };
  }

  #reference(): ObjectReference {
    const { name, namespace, uid, pod } = this.#identity;
    const resourceVersion = pod?.metadata.resourceVersion;
    return { kind: 'Pod', apiVersion: 'v1', name, namespace, uid, ...(resourceVersion === undefined ? {} : { resourceVersion }) };
  }
}
