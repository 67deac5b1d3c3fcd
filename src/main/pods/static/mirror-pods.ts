/**
 * Keeps one mirror pod in the API server for each static pod: created, made anew when it is wrong or was deleted, removed when the static
 * pod is gone. It is told of every change by the pod manager, and works beside the pods' syncs: a static pod runs whether the API server
 * is there or not. Upstream: tryReconcileMirrorPods in each sync, HandlePodCleanups, pkg/kubelet/pod/mirror_client.go.
 */
import { KubeletError } from '../../../shared/errors/kubelet-error.ts';
import { contain } from '../../../shared/errors/contain.ts';
import type { Pod } from '../../../shared/kubernetes/api.ts';
import { podFullName, podUID, type PodUID } from '../../../shared/kubernetes/ids.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import type { Clock } from '../../../shared/time/clock.ts';
import { apiPath, isAlreadyExists, isConflict, isNotFound, type ApiClient } from '../../api/index.ts';
import { KeyedWorkQueue } from '../../../shared/concurrency/keyed-work-queue.ts';
import { isDeleted } from '../termination/is-deleted.ts';
import { isMirrorOf, isMirrorPod, computeMirrorAction, toMirrorPod, type MirrorAction } from './mirror-pod.ts';
import type { PodManager } from '../pod-manager.ts';
import { podPath, deletePodObject } from '../termination/remove-pod-object.ts';
import { isStaticPod } from './static-pod.ts';

export interface MirrorPodsDependencies {
  readonly client: ApiClient;
  readonly podManager: PodManager;
  readonly nodeName: string;
  /** Undefined: the Node is not registered, not known yet, or being deleted. */
  readonly nodeUID: () => string | undefined;
  /** The API source has said once which pods there are: what it has not, is not there. */
  readonly isSynced: () => boolean;
  /** Every source has reported: a mirror pod without a static pod is an orphan. */
  readonly sourcesReady: () => boolean;
  /** A static pod of this full name, other than the wanted one, has not ended yet, or the wanted one ends: the mirror shows that pod until then. */
  readonly isStaticPodEnding: (fullName: string, wanted: PodUID | undefined) => boolean;
  /** A static pod's mirror was seen. */
  readonly onMirrorPod: (pod: Pod, mirror: Pod) => void;
  readonly clock: Clock;
  readonly logger: Logger;
  /** 0 to 1, for jitter. */
  readonly random: () => number;
}

const parallel = 4;
/** Something else may have the name for long. */
const backoff = { initialMs: 1000, maxMs: 60_000 };

/** A server that is back is asked within so long: many nodes have waited for it. */
const returnSpreadMs = 1000;

/** What we have done is believed for so long without the watch having shown it. */
const trustMs = 10_000;

/** What we have done to a mirror pod, which the watch shows in a moment. */
interface Done {
  readonly removedUID: string | undefined;
  readonly made: Pod | undefined;
  readonly atMs: number;
}

export class MirrorPods {
  readonly #deps: MirrorPodsDependencies;
  /** By full name. */
  readonly #done = new Map<string, Done>();
  readonly #work: KeyedWorkQueue<string>;
  readonly #unsubscribe: () => void;
  #cancelFreshStart = () => {};

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
      this.#cancelFreshStart();
      this.#cancelFreshStart = clock.after(random() * returnSpreadMs, () => this.#work.startAfresh());
    });
  }

  /** Looks at all of them: when the Node is registered, when the API source has synced, and with each round of housekeeping. Cheap when all is well. */
  reconcile(): void {
    const { podManager } = this.#deps;
    const names = new Set([...podManager.all().filter(isStaticPod), ...podManager.mirrorPods()].map(podFullName));
    for (const fullName of names) contain(this.#fault(), () => this.#look(fullName));
  }

  /** Aborts what is in flight. */
  async close(): Promise<void> {
    this.#unsubscribe();
    this.#cancelFreshStart();
    await this.#work.close();
  }

  #onChange(changed: Pod, isRemoved: boolean): void {
    const fullName = podFullName(changed);
    if (!isMirrorPod(changed) && !isStaticPod(changed)) return;
    const { podManager, onMirrorPod: onMirror } = this.#deps;
    const done = this.#done.get(fullName);
    // Nothing is left to be shown: what was made is gone again, or what was removed is, with nothing in its place.
    if (isRemoved && (done?.made?.metadata.uid ?? done?.removedUID) === changed.metadata.uid) this.#done.delete(fullName);
    const pod = podManager.getByFullName(fullName);
    const mirror = podManager.getMirrorByFullName(fullName);
    if (pod && mirror && isMirrorOf(mirror, pod)) onMirror(pod, mirror);
    this.#look(fullName);
  }

  #look(fullName: string): void {
    if (this.#action(fullName) !== 'none') this.#work.enqueue(fullName);
  }

  #action(fullName: string): MirrorAction {
    const { podManager, nodeUID, isSynced, sourcesReady, isStaticPodEnding } = this.#deps;
    if (!isSynced()) return 'none';
    const pod = podManager.getByFullName(fullName);
    // A pod of the API server may have the name of a static pod that is gone.
    const wanted = pod && isStaticPod(pod) ? pod : undefined;
    // Upstream reconciles the mirror in the static pod's sync, which waits for the end of its predecessor.
    if (isStaticPodEnding(fullName, wanted && podUID(wanted))) return 'none';
    const action = computeMirrorAction(wanted, this.#mirror(fullName), sourcesReady());
    return action === 'create' && nodeUID() === undefined ? 'none' : action;
  }

  /** As the watch has shown it, or as we have made it since. */
  #mirror(fullName: string): Pod | undefined {
    const seen = this.#deps.podManager.getMirrorByFullName(fullName);
    const done = this.#done.get(fullName);
    if (!done) return seen;
    if (this.#deps.clock.monotonic() - done.atMs < trustMs && (!seen || seen.metadata.uid === done.removedUID)) return done.made;
    this.#done.delete(fullName);
    return seen;
  }

  async #sync(fullName: string, signal: AbortSignal): Promise<void> {
    const pod = this.#deps.podManager.getByFullName(fullName);
    switch (this.#action(fullName)) {
      case 'delete':
        await this.#delete(this.#mirror(fullName)!, signal);
        // As upstream: the new one need not wait until the watch has seen the end of the old.
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
      this.#remember(await client.call<Pod>({ method: 'POST', path, body, trafficClass: 'pods', signal }));
    } catch (err) {
      if (!isAlreadyExists(err)) throw err;
      await this.#takeOver(pod, err, signal);
    }
  }

  /** The name is taken: by the mirror itself, which the watch has not shown yet, by an older one, or by another pod altogether. */
  async #takeOver(pod: Pod, taken: unknown, signal: AbortSignal): Promise<void> {
    const found = await this.#deps.client.call<Pod>({ method: 'GET', path: podPath(pod), trafficClass: 'pods', signal });
    if (isMirrorOf(found, pod) && !isDeleted(found)) return this.#remember(found);
    if (!isMirrorPod(found)) throw new KubeletError('AlreadyExists', 'another pod has the name of the static pod', { cause: taken });
    await this.#delete(found, signal);
    throw new KubeletError('AlreadyExists', 'an older mirror pod had the name of the static pod', { cause: taken });
  }

  /** Without grace: nothing of its own runs. One that is gone, or is another by now, is what was wanted. */
  async #delete(mirror: Pod, signal: AbortSignal): Promise<void> {
    const { client, logger } = this.#deps;
    const { namespace, name, uid } = mirror.metadata;
    logger.info({ pod: `${namespace}/${name}`, podUID: uid }, 'Deleting a mirror pod');
    await deletePodObject(client, mirror, { trafficClass: 'pods', signal }).catch((err: unknown) => {
      if (!isNotFound(err) && !isConflict(err)) throw err;
    });
    this.#done.set(podFullName(mirror), { removedUID: uid, made: undefined, atMs: this.#deps.clock.monotonic() });
  }

  #remember(made: Pod): void {
    const fullName = podFullName(made);
    const removedUID = this.#done.get(fullName)?.removedUID;
    this.#done.set(fullName, { removedUID, made, atMs: this.#deps.clock.monotonic() });
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
