/**
 * Decides when the status of each pod is written to the API server. `set` replaces the pod's pending status. Up to 16 pods are written at a
 * time, with one request in flight per pod. A failed write is retried after a back-off per pod. A static pod's status goes to its mirror
 * pod. status-writer.ts does the writing. Upstream: pkg/kubelet/status/status_manager.go.
 */
import { KeyedWorkQueue } from '../../../shared/concurrency/keyed-work-queue.ts';
import { contain } from '../../../shared/faults/contain.ts';
import { KubeletError, messageOf } from '../../../shared/errors/kubelet-error.ts';
import type { Pod } from '../../../shared/kubernetes/api.ts';
import { podUID, type PodUID } from '../../../shared/kubernetes/ids.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import type { Clock } from '../../../shared/time/clock.ts';
import { ApiError, type ApiClient } from '../../api/index.ts';
import { firstSeenMs } from '../first-seen.ts';
import type { PodManager } from '../pod-manager.ts';
import type { StatusUpdate, StatusUpdateSink } from '../api-status/index.ts';
import type { PodTimelines } from '../../timeline/index.ts';
import { coalesceDelayMs, isUrgent } from './coalesce-delay.ts';
import { podFields, StatusEntry } from './status-entry.ts';
import { StatusWriter } from './status-writer.ts';

export interface StatusManagerDependencies {
  readonly client: ApiClient;
  /** The pod in the API source's watch cache, with its resource version; undefined when the cache does not have it. */
  readonly apiPod: (uid: PodUID) => Pod | undefined;
  readonly podManager: PodManager;
  /** How long after the kubelet first saw a pod its first status may wait for the pod to run. */
  readonly firstStatusDelayMs: number;
  readonly timelines: PodTimelines;
  readonly clock: Clock;
  readonly logger: Logger;
  /** In [0, 1), for jitter. */
  readonly random: () => number;
}

/** Upstream writes one status after the other. Requests beyond the API client's rate limit would only wait there, out of order. */
const parallel = 16;
/** Upstream's syncPeriod, which is also its retry interval. */
const syncPeriodMs = 10_000;
const backoff = { initialMs: 500, maxMs: syncPeriodMs };

export class StatusManager implements StatusUpdateSink {
  readonly #deps: StatusManagerDependencies;
  readonly #writer: StatusWriter;
  readonly #entries = new Map<PodUID, StatusEntry>();
  readonly #work: KeyedWorkQueue<PodUID>;
  /** Pods whose last write failed because the server did not respond. */
  readonly #unanswered = new Set<PodUID>();

  constructor(dependencies: StatusManagerDependencies) {
    const { client, apiPod, clock, random, podManager, timelines, logger } = dependencies;
    this.#deps = dependencies;
    this.#writer = new StatusWriter({ client, apiPod, podManager, logger, timelines });
    this.#work = new KeyedWorkQueue({
      work: (uid, signal) => this.#sync(uid, signal),
      onError: (uid, err, retryAfterMs) => this.#onError(uid, err, retryAfterMs),
      retryAfterMs: (err) => (err instanceof KubeletError ? err.retryAfterMs : undefined),
      parallel,
      backoff,
      clock,
      random,
    });
    podManager.onChange((pod, change) => contain(this.#faultOf(pod), () => change === 'set' && this.#onObject(pod)));
  }

  /** Runs `syncAll` every 10 s until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    for (;;) {
      await this.#deps.clock.sleep(syncPeriodMs, signal).catch(() => {});
      if (signal.aborted) return;
      this.syncAll();
    }
  }

  set(update: StatusUpdate): void {
    const uid = podUID(update.pod);
    const existing = this.#entries.get(uid);
    existing?.setUpdate(update);
    const entry = existing ?? new StatusEntry(update, this.#deps.clock);
    this.#entries.set(uid, entry);
    this.#schedule(uid, entry);
  }

  /**
   * Called when the API source has listed all pods. Drops the cached responses: the cluster may have been restored from an older backup.
   * If a response was only newer than the list, the watch delivers that version next.
   */
  onListed(): void {
    for (const entry of this.#entries.values()) Object.assign(entry, { response: null, deletedUID: null });
  }

  /** Writes the pod's pending status without a coalesce delay. */
  expedite(uid: PodUID): void {
    const entry = this.#entries.get(uid);
    if (!entry || entry.changedAtMs === null) return;
    entry.isExpedited = true;
    this.#schedule(uid, entry);
  }

  /**
   * Resolves when the pod's newest status is written, or when no object can receive it. Undefined when nothing is pending. Stays pending
   * after the signal aborts.
   */
  whenWritten(uid: PodUID, signal: AbortSignal): Promise<void> | undefined {
    const entry = this.#entries.get(uid);
    if (!entry || entry.changedAtMs === null || !this.#writer.targetOf(entry)) return undefined;
    return entry.waitUntilWritten(signal);
  }

  /** Drops the pod's status. A request in flight is aborted. */
  forget(uid: PodUID): void {
    const entry = this.#entries.get(uid);
    entry?.coalesceTimer.cancel();
    entry?.resolveWaiters();
    this.#entries.delete(uid);
    this.#unanswered.delete(uid);
    this.#work.forget(uid);
  }

  /** Drops the statuses of all pods but these. */
  keepOnly(known: ReadonlySet<PodUID>): void {
    for (const uid of this.#entries.keys()) if (!known.has(uid)) this.forget(uid);
  }

  /** Compares each status with the API server's and corrects what other clients overwrote. */
  syncAll(): void {
    for (const [uid, entry] of this.#entries) {
      // While the API source still has the object, the next write checks again whether the object exists.
      entry.missingUID = null;
      if (!this.#work.isBusy(uid) && !entry.coalesceTimer.isWaiting) this.#schedule(uid, entry);
    }
  }

  /** Aborts the requests in flight. */
  async close(): Promise<void> {
    for (const { coalesceTimer } of this.#entries.values()) coalesceTimer.cancel();
    await this.#work.close();
  }

  /** Schedules a write when a mirror pod arrives, or when a pod that already finished is deleted. */
  #onObject(object: Pod): void {
    const uid = this.#deps.podManager.translatePodUID(podUID(object));
    const isMirror = uid !== podUID(object);
    if (!isMirror && !this.#entries.get(uid)?.update.isFinished) return;
    // Later, when all listeners of the pod manager have been called: the static pod's status takes over what its mirror pod has.
    queueMicrotask(() => {
      const entry = this.#entries.get(uid);
      if (entry) this.#schedule(uid, entry);
    });
  }

  #schedule(uid: PodUID, entry: StatusEntry): void {
    // While a request is in flight, its response decides: `#sync` schedules again when it ends.
    if (!this.#work.isInFlight(uid)) contain(this.#faultOf(entry.update.pod), () => this.#enqueueIfChanged(uid, entry));
  }

  /** Enqueues the pod if there is a patch to send or an object to delete, now or after the coalesce delay. */
  #enqueueIfChanged(uid: PodUID, entry: StatusEntry): void {
    const target = this.#writer.targetOf(entry);
    // The object is gone: a write that has begun has nothing to wait for any more.
    if (!target) return this.#deps.timelines.end(uid, 'StatusWrite');
    const { patch, next } = this.#writer.computePatch(entry, target);
    const shouldDelete = this.#writer.shouldDelete(entry, target);
    if (!patch && !shouldDelete) {
      entry.coalesceTimer.cancel();
      this.#deps.timelines.end(uid, 'StatusWrite');
      return entry.markWritten();
    }
    if (patch) this.#deps.timelines.beginUnlessOpen(uid, 'StatusWrite');
    const delayMs =
      patch && !shouldDelete && !entry.isExpedited ? coalesceDelayMs(target, next, entry.update.status, this.#firstStatusInMs(entry)) : 0;
    if (delayMs > 0) return entry.coalesceTimer.start(delayMs, () => this.#work.enqueue(uid));
    entry.coalesceTimer.cancel();
    this.#work.enqueue(uid, isUrgent(target, next));
  }

  #firstStatusInMs({ update }: StatusEntry): number {
    const { firstStatusDelayMs, clock } = this.#deps;
    return Math.max(0, firstSeenMs(update.pod) + firstStatusDelayMs - clock.now());
  }

  async #sync(uid: PodUID, signal: AbortSignal): Promise<void> {
    const entry = this.#entries.get(uid);
    if (entry && (await this.#writer.write(entry, signal))) this.#onResponse(uid);
    // The status may have changed meanwhile; the pod may even have been forgotten and added again.
    const newest = this.#entries.get(uid);
    if (newest) this.#enqueueIfChanged(uid, newest);
  }

  /** The server responds: pods that wait out a back-off because it did not are retried at once. */
  #onResponse(uid: PodUID): void {
    this.#unanswered.delete(uid);
    if (this.#unanswered.size === 0) return;
    const waiting = [...this.#unanswered];
    this.#unanswered.clear();
    this.#work.retryNow(waiting);
  }

  #onError(uid: PodUID, err: unknown, retryAfterMs: number): void {
    const entry = this.#entries.get(uid);
    if (!entry) return this.#work.forget(uid);
    if (err instanceof ApiError && err.code === 0) this.#unanswered.add(uid);
    const log = this.#deps.logger.child(podFields(entry.update.pod));
    this.#recordFailure(uid, err, retryAfterMs);
    log.error({ err, retryAfterMs: Math.round(retryAfterMs) }, 'Failed to update status for pod');
  }

  #recordFailure(uid: PodUID, err: unknown, retryAfterMs: number): void {
    const { timelines, clock } = this.#deps;
    for (const phase of ['StatusWrite', 'APIDelete'] as const) timelines.retryAt(uid, phase, clock.monotonic() + retryAfterMs);
    timelines.setProblem(uid, 'api', messageOf(err));
  }

  /** After a contained fault the next `syncAll` tries again. */
  #faultOf(pod: Pod) {
    return { handler: 'status manager', logger: this.#deps.logger, fields: podFields(pod) };
  }
}
