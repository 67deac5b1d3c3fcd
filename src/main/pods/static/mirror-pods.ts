/**
 * Keeps one mirror pod in the API server for each static pod: creates it, recreates it when it is outdated or was deleted, and deletes it with
 * the static pod. It reacts to the pod manager's changes independently of the pods' syncs, so static pods run without an API server.
 * Upstream: tryReconcileMirrorPods in each sync, HandlePodCleanups, pkg/kubelet/pod/mirror_client.go.
 */
import { KubeletError } from '../../../shared/errors/kubelet-error.ts';
import { contain } from '../../../shared/faults/contain.ts';
import type { Pod } from '../../../shared/kubernetes/api.ts';
import { podFullName, podUID, type PodUID } from '../../../shared/kubernetes/ids.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import type { Clock } from '../../../shared/time/clock.ts';
import { apiPath, isAlreadyExists, isConflict, isNotFound, type ApiClient } from '../../api/index.ts';
import { KeyedWorkQueue } from '../../../shared/concurrency/keyed-work-queue.ts';
import { isDeleted } from '../../../shared/kubernetes/is-deleted.ts';
import { isMirrorOf, computeMirrorAction, toMirrorPod, type MirrorAction } from './mirror-pod.ts';
import { isMirrorPod, isStaticPod } from '../../../shared/kubernetes/static-pod.ts';
import type { PodManager } from '../pod-manager.ts';
import { podPath, deletePodObject } from '../termination/delete-pod-object.ts';

export interface MirrorPodsDependencies {
  readonly client: ApiClient;
  readonly podManager: PodManager;
  readonly nodeName: string;
  /** Undefined while the Node is not registered, unknown or being deleted. */
  readonly nodeUID: () => string | undefined;
  /** True once the API source has listed its pods: a mirror pod that it lacks does not exist. */
  readonly isSynced: () => boolean;
  /** True once every source has reported: then a mirror pod without a static pod is an orphan. */
  readonly sourcesReady: () => boolean;
  /** True while an earlier static pod of this full name, or the desired one, is terminating: until then the mirror shows that pod. */
  readonly isStaticPodEnding: (fullName: string, desired: PodUID | undefined) => boolean;
  /** Called when the watch delivers the mirror of a static pod. */
  readonly onMirrorPod: (pod: Pod, mirror: Pod) => void;
  readonly clock: Clock;
  readonly logger: Logger;
  /** In [0, 1), for jitter. */
  readonly random: () => number;
}

/** Mirror pods that are written at the same time. */
const parallel = 4;
/** Another pod may keep the name for a long time. */
const backoff = { initialMs: 1000, maxMs: 60_000 };

/** Spreads the retries of many nodes after the API server is available again. */
const reconnectSpreadMs = 1000;

/** How long the result of a write counts although the watch has not delivered it. */
const writeResultTTLMs = 10_000;

/** The last write for a full name, which the watch delivers later. */
interface WriteResult {
  readonly deletedUID: string | undefined;
  readonly created: Pod | undefined;
  readonly atMs: number;
}

export class MirrorPods {
  readonly #deps: MirrorPodsDependencies;
  /** By full name. */
  readonly #writeResults = new Map<string, WriteResult>();
  readonly #work: KeyedWorkQueue<string>;
  readonly #unsubscribe: () => void;
  #cancelRetryAll = () => {};

  constructor(dependencies: MirrorPodsDependencies) {
    const { client, podManager, clock, random } = dependencies;
    this.#deps = dependencies;
    this.#work = new KeyedWorkQueue({
      work: (fullName, signal) => this.#sync(fullName, signal),
      onError: (fullName, err, retryAfterMs) => this.#onError(fullName, err, retryAfterMs),
      retryAfterMs: (err) => (err instanceof KubeletError ? err.retryAfterMs : undefined),
      parallel,
      backoff,
      clock,
      random,
    });
    podManager.onChange((pod, change) => contain(this.#fault(), () => this.#onChange(pod, change === 'removed')));
    this.#unsubscribe = client.onRecovery(() => {
      this.#cancelRetryAll();
      this.#cancelRetryAll = clock.after(random() * reconnectSpreadMs, () => this.#work.resetBackoff());
    });
  }

  /** Reconciles all mirror pods. Called when the Node is registered, when the API source has synced, and by housekeeping. */
  reconcile(): void {
    const { podManager } = this.#deps;
    const names = new Set([...podManager.all().filter(isStaticPod), ...podManager.mirrorPods()].map(podFullName));
    for (const fullName of names) contain(this.#fault(), () => this.#enqueueIfNeeded(fullName));
  }

  /** Aborts the requests in flight. */
  async close(): Promise<void> {
    this.#unsubscribe();
    this.#cancelRetryAll();
    await this.#work.close();
  }

  #onChange(changed: Pod, isRemoved: boolean): void {
    const fullName = podFullName(changed);
    if (!isMirrorPod(changed) && !isStaticPod(changed)) return;
    const { podManager, onMirrorPod: onMirror } = this.#deps;
    const result = this.#writeResults.get(fullName);
    // The watch has caught up: the created mirror was deleted again, or the deleted one is gone.
    if (isRemoved && (result?.created?.metadata.uid ?? result?.deletedUID) === changed.metadata.uid) this.#writeResults.delete(fullName);
    const pod = podManager.getByFullName(fullName);
    const mirror = podManager.getMirrorByFullName(fullName);
    if (pod && mirror && isMirrorOf(mirror, pod)) onMirror(pod, mirror);
    this.#enqueueIfNeeded(fullName);
  }

  #enqueueIfNeeded(fullName: string): void {
    if (this.#computeAction(fullName) !== 'none') this.#work.enqueue(fullName);
  }

  #computeAction(fullName: string): MirrorAction {
    const { podManager, nodeUID, isSynced, sourcesReady, isStaticPodEnding } = this.#deps;
    if (!isSynced()) return 'none';
    const pod = podManager.getByFullName(fullName);
    // An API pod may have the name of a deleted static pod.
    const desired = pod && isStaticPod(pod) ? pod : undefined;
    // Upstream reconciles the mirror in the static pod's sync, which waits for the end of its predecessor.
    if (isStaticPodEnding(fullName, desired && podUID(desired))) return 'none';
    const action = computeMirrorAction(desired, this.#mirror(fullName), sourcesReady());
    return action === 'create' && nodeUID() === undefined ? 'none' : action;
  }

  /** The mirror from the watch, or the result of a later write. */
  #mirror(fullName: string): Pod | undefined {
    const watched = this.#deps.podManager.getMirrorByFullName(fullName);
    const result = this.#writeResults.get(fullName);
    if (!result) return watched;
    const isRecent = this.#deps.clock.monotonic() - result.atMs < writeResultTTLMs;
    if (isRecent && (!watched || watched.metadata.uid === result.deletedUID)) return result.created;
    this.#writeResults.delete(fullName);
    return watched;
  }

  async #sync(fullName: string, signal: AbortSignal): Promise<void> {
    const pod = this.#deps.podManager.getByFullName(fullName);
    switch (this.#computeAction(fullName)) {
      case 'delete':
        await this.#delete(this.#mirror(fullName)!, signal);
        // As upstream, the new mirror does not wait until the watch has delivered the deletion of the old one.
        return pod && isStaticPod(pod) ? await this.#create(pod, signal) : undefined;
      case 'create':
        return await this.#create(pod!, signal);
      case 'none':
    }
  }

  async #create(pod: Pod, signal: AbortSignal): Promise<void> {
    const { client, nodeName, nodeUID, logger } = this.#deps;
    const uid = nodeUID();
    if (uid === undefined) return;
    const { namespace, name } = pod.metadata;
    const path = apiPath('api', 'v1', 'namespaces', namespace, 'pods');
    logger.info({ pod: `${namespace}/${name}`, podUID: pod.metadata.uid }, 'Creating a mirror pod for static pod');
    try {
      const body = toMirrorPod(pod, { name: nodeName, uid });
      this.#onCreated(await client.call<Pod>({ method: 'POST', path, body, trafficClass: 'pods', signal }));
    } catch (err) {
      if (!isAlreadyExists(err)) throw err;
      await this.#resolveNameConflict(pod, err, signal);
    }
  }

  /** The name is in use by the mirror itself, which the watch has not delivered yet, by an older mirror, or by another pod. */
  async #resolveNameConflict(pod: Pod, alreadyExists: unknown, signal: AbortSignal): Promise<void> {
    const existing = await this.#deps.client.call<Pod>({ method: 'GET', path: podPath(pod), trafficClass: 'pods', signal });
    if (isMirrorOf(existing, pod) && !isDeleted(existing)) return this.#onCreated(existing);
    if (!isMirrorPod(existing))
      throw new KubeletError('AlreadyExists', 'another pod has the name of the static pod', { cause: alreadyExists });
    await this.#delete(existing, signal);
    throw new KubeletError('AlreadyExists', 'an older mirror pod had the name of the static pod', { cause: alreadyExists });
  }

  /** Deletes without a grace period, because a mirror pod has no containers. Succeeds when the object is gone or replaced. */
  async #delete(mirror: Pod, signal: AbortSignal): Promise<void> {
    const { client, logger } = this.#deps;
    const { namespace, name, uid } = mirror.metadata;
    logger.info({ pod: `${namespace}/${name}`, podUID: uid }, 'Deleting a mirror pod');
    await deletePodObject(client, mirror, { trafficClass: 'pods', signal }).catch((err: unknown) => {
      if (!isNotFound(err) && !isConflict(err)) throw err;
    });
    this.#writeResults.set(podFullName(mirror), { deletedUID: uid, created: undefined, atMs: this.#deps.clock.monotonic() });
  }

  #onCreated(created: Pod): void {
    const fullName = podFullName(created);
    const deletedUID = this.#writeResults.get(fullName)?.deletedUID;
    this.#writeResults.set(fullName, { deletedUID, created, atMs: this.#deps.clock.monotonic() });
  }

  #fault() {
    return { handler: 'mirror pods', logger: this.#deps.logger };
  }

  #onError(fullName: string, err: unknown, retryAfterMs: number): void {
    const [name, namespace] = fullName.split('_');
    this.#deps.logger.error(
      { pod: `${namespace}/${name}`, err, retryAfterMs: Math.round(retryAfterMs) },
      'Failed to reconcile a mirror pod',
    );
  }
}
