/**
 * The pods of an API server in memory, with resource versions, preconditions, a strategic merge of the status and graceful deletion. The state that
 * the watch has shown is separate and changes when the test calls `syncWatch`, so that the kubelet's copy may be stale.
 */
import { isDeepStrictEqual } from 'node:util';
import { ApiError, type ApiCall, type ApiClient, type WatchEvent } from '../../../src/main/api/index.ts';
import type { Pod, PodCondition } from '../../../src/shared/kubernetes/api.ts';
import type { PodUID } from '../../../src/shared/kubernetes/ids.ts';

type Fields = Record<string, unknown>;

export class FakePodApi implements ApiClient {
  /** `PATCH web Running`, `DELETE web`, … */
  readonly calls: string[] = [];
  readonly bodies: unknown[] = [];
  /** By name. */
  readonly pods = new Map<string, Pod>();
  /** The pods that the watch has shown, by UID. */
  readonly watched = new Map<PodUID, Pod>();
  /** While set, every call fails with this error. */
  failure: ApiError | null = null;
  /** While true, calls wait for `resume`. */
  paused = false;
  /** Status fields that this server ignores. */
  ignoredFields: readonly string[] = [];
  #waiting: (() => void)[] = [];
  #version = 100;
  #uids = 0;
  readonly #recoveryListeners = new Set<() => void>();

  /** Returns the pod of the kubelet's API source. */
  readonly apiPod = (uid: PodUID): Pod | undefined => this.watched.get(uid);

  /** Stores the pod and shows it in the watch. */
  add(pod: Pod): Pod {
    const stored = this.put(pod);
    this.syncWatch();
    return stored;
  }

  /** Another client writes the pod; the watch does not show the write. */
  put(pod: Pod): Pod {
    this.#version += 1;
    const stored = { ...pod, metadata: { ...pod.metadata, resourceVersion: String(this.#version) } };
    this.pods.set(pod.metadata.name, stored);
    return stored;
  }

  /** Another client changes a part of the pod; the watch does not show the change. */
  change(name: string, { metadata, status }: { metadata?: Partial<Pod['metadata']>; status?: Partial<Pod['status'] & object> }): Pod {
    const pod = this.pods.get(name)!;
    return this.put({ ...pod, metadata: { ...pod.metadata, ...metadata }, status: { ...pod.status, ...status } });
  }

  /** Shows the current pods in the watch. */
  syncWatch(): void {
    this.watched.clear();
    for (const pod of this.pods.values()) this.watched.set(pod.metadata.uid as PodUID, pod);
  }

  /** Restores an older state of the cluster with these pods, and shows it in the watch. */
  restore(pods: readonly Pod[]): void {
    this.pods.clear();
    for (const pod of pods) this.pods.set(pod.metadata.name, pod);
    this.#version = Math.max(...pods.map(({ metadata }) => Number(metadata.resourceVersion)));
    this.syncWatch();
  }

  /** Lets paused calls continue. */
  resume(): void {
    this.paused = false;
    for (const go of this.#waiting.splice(0)) go();
  }

  async call<T>(call: ApiCall): Promise<T> {
    const name = call.path.split('/')[6];
    const phase = (call.body as { status?: { phase?: string } } | undefined)?.status?.phase;
    this.calls.push([call.method, name, call.method === 'PATCH' ? phase : undefined].filter(Boolean).join(' '));
    this.bodies.push(call.body);
    if (this.paused) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    call.signal?.throwIfAborted();
    if (this.failure) throw this.failure;
    const answer = structuredClone(this.#answer(call, name)) as Pod;
    return (call.answer === 'metadata' ? { kind: 'PartialObjectMetadata', metadata: answer.metadata } : answer) as T;
  }

  onRecovery(listener: () => void): () => void {
    this.#recoveryListeners.add(listener);
    return () => void this.#recoveryListeners.delete(listener);
  }

  /** The server answers again after an outage. */
  recover(): void {
    this.failure = null;
    for (const listener of this.#recoveryListeners) listener();
  }

  // oxlint-disable-next-line require-yield
  async *watch<T>(): AsyncIterable<WatchEvent<T>> {
    throw new Error('FakePodApi has no watch');
  }

  #answer(call: ApiCall, name: string | undefined): unknown {
    if (call.method === 'POST') return this.#create(call.body as Pod);
    const pod = this.pods.get(name ?? '');
    if (!pod) throw new ApiError(404, 'NotFound', `pods "${name}" not found`);
    if (call.method === 'GET') return pod;
    if (call.method === 'DELETE') return this.#delete(pod, call.body as { preconditions?: { uid?: string } });
    return this.#patch(pod, call.body as { metadata: { uid?: string; resourceVersion?: string }; status: Fields });
  }

  #create(body: Pod): Pod {
    if (this.pods.has(body.metadata.name)) throw new ApiError(409, 'AlreadyExists', `pods "${body.metadata.name}" already exists`);
    this.#uids += 1;
    return this.put({ ...body, metadata: { ...body.metadata, uid: `created-${this.#uids}` } });
  }

  #delete(pod: Pod, { preconditions }: { preconditions?: { uid?: string } }): Pod {
    if (preconditions?.uid !== undefined && preconditions.uid !== pod.metadata.uid)
      throw new ApiError(409, 'Conflict', 'UID in precondition');
    if (pod.metadata.finalizers?.length) return this.put(pod);
    this.pods.delete(pod.metadata.name);
    return pod;
  }

  #patch(pod: Pod, { metadata, status }: { metadata: { uid?: string; resourceVersion?: string }; status: Fields }): Pod {
    if (metadata.uid !== undefined && metadata.uid !== pod.metadata.uid) throw new ApiError(409, 'Conflict', 'UID in precondition');
    if (metadata.resourceVersion !== undefined && metadata.resourceVersion !== pod.metadata.resourceVersion) {
      throw new ApiError(409, 'Conflict', 'the object has been modified');
    }
    const next: Fields = { ...pod.status };
    for (const [field, value] of Object.entries(status)) {
      if (this.ignoredFields.includes(field)) continue;
      if (value === null) delete next[field];
      else if (field === 'conditions') next[field] = mergeConditions(pod.status?.conditions ?? [], value as PodCondition[]);
      else next[field] = Array.isArray(value) ? value.filter((one: Fields) => one['$patch'] === undefined) : value;
    }
    return isDeepStrictEqual(next, pod.status) ? pod : this.put({ ...pod, status: next });
  }
}

function mergeConditions(before: readonly PodCondition[], changes: readonly PodCondition[]): PodCondition[] {
  const merged = new Map(before.map((condition) => [condition.type, condition]));
  for (const change of changes) {
    if ((change as { readonly $patch?: string }).$patch === 'delete') {
      merged.delete(change.type);
      continue;
    }
    const fields = Object.entries({ ...merged.get(change.type), ...change }).filter(([, value]) => value !== null);
    merged.set(change.type, Object.fromEntries(fields) as never);
  }
  return [...merged.values()];
}
