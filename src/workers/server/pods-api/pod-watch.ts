/**
 * One client that watches pods. Events wait in a queue of 100, as in upstream's server; a client that does not read as fast loses its watch.
 * A pod that the client does not have is always ADDED, and only a pod that the client has is DELETED.
 */
import type { PodUID } from '../../../shared/kubernetes/ids.ts';
import { podWatchEventsDropped } from '../../../shared/metrics/definitions/pods-api.ts';
import { GrpcError, statusCode, type ResponseStream } from '../grpc/index.ts';
import { EventType, WatchPodsEvent } from './generated/pods-v1alpha1.ts';
import type { MirroredPod, PodEvent, PodMirror } from './pod-mirror.ts';

const maxQueuedEvents = 100;

/** Never resolves. Rejects with GrpcError when the client ends the watch or is too slow, and when the mirror has lost the pods. */
export async function watchPods(mirror: Pick<PodMirror, 'pods' | 'follow'>, stream: ResponseStream): Promise<never> {
  const watch = new PodWatch(stream.ended);
  const initialPods = mirror.pods();
  const unfollow = mirror.follow({ onEvent: (event) => watch.add(event), onLost: (err) => watch.fail(err) });
  try {
    return await watch.run(initialPods, stream);
  } finally {
    unfollow();
  }
}

class PodWatch {
  readonly #queue: PodEvent[] = [];
  /** The pods that the client has. */
  readonly #known = new Set<PodUID>();
  #failure: GrpcError | null = null;
  #wake: () => void = () => {};

  constructor(ended: AbortSignal) {
    ended.addEventListener('abort', () => this.fail(new GrpcError(statusCode.CANCELLED, 'context canceled')), { once: true });
  }

  add(event: PodEvent): void {
    if (this.#failure) return;
    if (this.#queue.length < maxQueuedEvents) {
      this.#queue.push(event);
      this.#wake();
      return;
    }
    podWatchEventsDropped.inc();
    this.fail(new GrpcError(statusCode.RESOURCE_EXHAUSTED, 'watch client channel closed'));
  }

  fail(err: GrpcError): void {
    this.#failure ??= err;
    this.#queue.length = 0;
    this.#wake();
  }

  async run(initialPods: readonly MirroredPod[], stream: ResponseStream): Promise<never> {
    for (const { uid } of initialPods) this.#known.add(uid);
    for (const { bytes } of initialPods) await this.#send(stream, EventType.ADDED, bytes);
    await this.#send(stream, EventType.INITIAL_SYNC_COMPLETE);
    for (;;) {
      const event = this.#queue.shift();
      if (event) await this.#sendEvent(stream, event);
      else await this.#untilWoken();
    }
  }

  async #sendEvent(stream: ResponseStream, { type, uid, bytes }: PodEvent): Promise<void> {
    const isKnown = this.#known.has(uid);
    if (type === 'DELETED') {
      if (this.#known.delete(uid)) await this.#send(stream, EventType.DELETED, bytes);
      return;
    }
    this.#known.add(uid);
    await this.#send(stream, isKnown ? EventType.MODIFIED : EventType.ADDED, bytes);
  }

  async #send(stream: ResponseStream, type: EventType, pod: Uint8Array = new Uint8Array()): Promise<void> {
    if (this.#failure) throw this.#failure;
    await stream.send(WatchPodsEvent.encode({ type, pod }).finish());
  }

  #untilWoken(): Promise<void> {
    if (this.#failure) throw this.#failure;
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}
