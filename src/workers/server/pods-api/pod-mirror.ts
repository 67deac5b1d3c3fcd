/**
 * A copy of main's pods, encoded as protobuf, which exists while clients of the pods API need it. The mirror asks main for all pods once, and then for
 * changes. So a list costs main nothing, and a change is encoded once for all clients.
 */
import { createHash } from 'node:crypto';
import { yieldToEventLoop } from '../../../shared/concurrency/yield-to-event-loop.ts';
import type { PodChanges, PodState } from '../../../shared/contracts/server/pods.ts';
import { contain } from '../../../shared/faults/contain.ts';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import type { PodUID } from '../../../shared/kubernetes/ids.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import { monotonicMs } from '../../../shared/time/clock.ts';
import { GrpcError, statusCode } from '../grpc/index.ts';
import { encodePod } from './encode-pod.ts';

export interface MirroredPod {
  readonly uid: PodUID;
  /** A v1.Pod. */
  readonly bytes: Uint8Array;
}

/** The bytes of a `DELETED` event have only the pod's name, namespace and UID. */
export interface PodEvent extends MirroredPod {
  readonly type: 'CHANGED' | 'DELETED';
}

export interface MirrorListener {
  readonly onEvent: (event: PodEvent) => void;
  /** The mirror no longer gets changes from main. No event follows. */
  readonly onLost: (err: GrpcError) => void;
}

export interface PodMirrorOptions {
  /** Asks main for the changes since the cursor of the last reply. Null: for all pods. */
  readonly changes: (cursor: number | null) => Promise<PodChanges>;
  readonly logger: Logger;
  /** Default: the monotonic clock. */
  readonly nowMs?: () => number;
}

interface StoredPod extends MirroredPod {
  /** A v1.Pod with only the name, namespace and UID. */
  readonly names: Uint8Array;
  /** The digest of everything but the fields that the API server changes with each write. */
  readonly digest: string;
  readonly isFinished: boolean;
}

/** How long pods are kept after the last call. */
const idleMs = 30_000;
/** Encoding a pod takes 0.1 to 0.2 ms. */
const podsPerIteration = 16;

export class PodMirror {
  readonly #options: PodMirrorOptions;
  readonly #nowMs: () => number;
  readonly #pods = new Map<PodUID, StoredPod>();
  readonly #listeners = new Set<MirrorListener>();
  #sourcesReady = false;
  #usedAtMs = 0;
  /** Resolves when the mirror has all pods; null while main is not asked. */
  #synced: Promise<void> | null = null;
  /** Counts the changes. */
  #version = 0;

  constructor(options: PodMirrorOptions) {
    this.#options = options;
    this.#nowMs = options.nowMs ?? monotonicMs;
  }

  get version(): number {
    return this.#version;
  }

  /** Resolves when `pods` and `get` are up to date. Rejects with GrpcError before all sources have reported, and when main does not answer. */
  async ready(): Promise<void> {
    this.#usedAtMs = this.#nowMs();
    this.#synced ??= this.#start();
    await this.#synced;
    if (!this.#sourcesReady) throw new GrpcError(statusCode.FAILED_PRECONDITION, 'Kubelet is initializing');
  }

  /** Returns all pods in the order of their UIDs. */
  pods(): readonly MirroredPod[] {
    return [...this.#pods.values()].sort((a, b) => (a.uid < b.uid ? -1 : 1));
  }

  get(uid: string): MirroredPod | undefined {
    return this.#pods.get(uid as PodUID);
  }

  /** Call after `ready`. Returns a function that ends the notifications. */
  follow(listener: MirrorListener): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
      this.#usedAtMs = this.#nowMs();
    };
  }

  #start(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#run(resolve).catch((err: unknown) => {
        this.#options.logger.warn({ err: messageOf(err) }, 'The pods API has lost the pods of the main thread');
        const lost = new GrpcError(statusCode.UNAVAILABLE, messageOf(err), { cause: err });
        this.#stop(lost);
        reject(lost);
      });
    });
  }

  async #run(onSynced: () => void): Promise<void> {
    const { changes } = this.#options;
    let cursor: number | null = null;
    let isSynced = false;
    while (!isSynced || this.#listeners.size > 0 || this.#nowMs() - this.#usedAtMs < idleMs) {
      const reply: PodChanges = await changes(cursor);
      if (reply.isStart && cursor !== null) throw new Error('the main thread has changes that it did not keep for the pods API');
      cursor = reply.cursor;
      await this.#apply(reply);
      if (!reply.isComplete) continue;
      if (!isSynced) this.#usedAtMs = this.#nowMs();
      isSynced = true;
      onSynced();
    }
    // No `await` may come between the loop's condition and this call: a client that `ready` has let through would find no pods.
    this.#forget();
  }

  #stop(reason: GrpcError): void {
    this.#forget();
    const listeners = [...this.#listeners];
    this.#listeners.clear();
    for (const { onLost } of listeners) onLost(reason);
  }

  #forget(): void {
    this.#synced = null;
    this.#pods.clear();
    this.#version += 1;
  }

  async #apply({ pods, removed, sourcesReady }: PodChanges): Promise<void> {
    let sinceYield = 0;
    for (const pod of pods) {
      const context = { handler: 'pods API', logger: this.#options.logger, fields: { podUID: pod.uid } };
      contain(context, () => this.#set(pod));
      sinceYield += 1;
      if (sinceYield % podsPerIteration === 0) await yieldToEventLoop();
    }
    for (const uid of removed) {
      const pod = this.#pods.get(uid);
      this.#pods.delete(uid);
      if (pod) this.#notify({ type: 'DELETED', uid, bytes: pod.names });
    }
    if (pods.length > 0 || removed.length > 0) this.#version += 1;
    this.#sourcesReady = sourcesReady;
  }

  #set({ uid, namespace, name, json, hasStatus, isFinished }: PodState): void {
    const pod = JSON.parse(json) as { readonly metadata: object };
    const bytes = encodePod(pod);
    const digest = digestOf(pod);
    const names = encodePod({ metadata: { name, namespace, uid } });
    const previous = this.#pods.get(uid);
    this.#pods.set(uid, { uid, bytes, names, digest, isFinished });
    this.#version += 1;
    if (!hasStatus || (previous?.digest === digest && previous.isFinished === isFinished)) return;
    this.#notify(isFinished ? { type: 'DELETED', uid, bytes: names } : { type: 'CHANGED', uid, bytes });
  }

  #notify(event: PodEvent): void {
    for (const { onEvent } of this.#listeners) onEvent(event);
  }
}

/** The kubelet's own write of a status comes back with a new resourceVersion. For a watcher that is no change. */
function digestOf(pod: { readonly metadata: object }): string {
  const metadata = { ...pod.metadata, resourceVersion: undefined, managedFields: undefined };
  return createHash('sha256')
    .update(encodePod({ ...pod, metadata }))
    .digest('base64');
}
