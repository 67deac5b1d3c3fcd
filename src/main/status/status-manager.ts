/**
 * The only writer of pod status to the API server. Each change of a pod's status arrives here (`set`), replaces the one that waits, and is
 * sent as a patch of the last known object: what the API source last saw, or the answer to our last patch, whichever is newer. Nothing is
 * read before a write; only a conflict makes it read the object and decide anew. When nothing is left of a pod that was deleted, its
 * object is deleted too. Upstream: pkg/kubelet/status/status_manager.go.
 *
 * One request in flight for each pod, several pods at a time; what fails is tried again after a back-off of the pod's own. What waits is
 * one status for each pod. A static pod's status goes to its mirror pod.
 */
import type { Pod, PodStatus } from '../../shared/kubernetes/api.ts';
import { podUID, type PodUID } from '../../shared/kubernetes/ids.ts';
import { KubeletError } from '../../shared/errors/kubelet-error.ts';
import { contain } from '../../shared/errors/contain.ts';
import type { Logger } from '../../shared/log/logger.ts';
import { podStatusSyncDuration } from '../../shared/metrics/definitions/pods.ts';
import type { Clock } from '../../shared/time/clock.ts';
import { ApiError, isConflict, isNotFound, type ApiClient } from '../api/index.ts';
import { KeyedWorkQueue } from '../../shared/concurrency/keyed-work-queue.ts';
import type { PodManager } from '../pods/pod-manager.ts';
import { firstSeenMs } from '../pods/first-seen.ts';
import { isMirrorOf } from '../pods/static/mirror-pod.ts';
import type { StatusUpdateSink, StatusUpdate } from '../pods/api-status/api-status-cache.ts';
import { podPath, deletePodObject } from '../pods/termination/remove-pod-object.ts';
import { isStaticPod } from '../pods/static/static-pod.ts';
import { CoalesceTimer } from './coalesce-timer.ts';
import { isNewer } from './newest-object.ts';
import { coalesceDelayMs, isUrgent, canBeDeleted } from './coalesce-delay.ts';
import { statusPatch, toApiStatus, type StatusPatch } from './status-patch.ts';

export interface StatusManagerDependencies {
  readonly client: ApiClient;
  /** The pod as the API source last saw it, with its resource version; undefined: it is not there. */
  readonly apiPod: (uid: PodUID) => Pod | undefined;
  readonly podManager: PodManager;
  /** How long after its pod was seen a first status may wait for the pod to run. Default: not at all. */
  readonly firstStatusDelayMs?: number;
  readonly clock: Clock;
  readonly logger: Logger;
  /** 0 to 1, for jitter. */
  readonly random: () => number;
}

/** Upstream sends one status after the other. More than the API client's own rate lets pass would only wait there, out of order. */
const parallel = 16;
/** Upstream's syncPeriod, which is also its time until the next try. */
const sweepPeriodMs = 10_000;
const backoff = { initialMs: 500, maxMs: sweepPeriodMs };
/** A pod that others change all the time is left alone for a while after so many conflicts in a row. */
const maxConflicts = 4;

interface Entry {
  update: StatusUpdate;
  /** The monotonic ms of the first change that was not sent yet; null: all was. */
  changedAtMs: number | null;
  /** The answer to our last patch, while it is newer than what the API source saw. */
  answer: Pod | null;
  /** What that version lacks although we said it: the server takes no notice of it, and is not told again before the object changes. */
  unheard: { readonly text: string; readonly resourceVersion: string | undefined } | null;
  /** The UID of an object that is not there any more. */
  gone: string | null;
  /** The UID of the object that we have deleted. */
  deleted: string | null;
  /** The wait of a change that may be overtaken. */
  readonly hold: CoalesceTimer;
  /** What is not written yet does not wait any longer for a change that follows. */
  isHurried: boolean;
  /** Called when everything is written, or will never be. */
  readonly onWritten: Set<() => void>;
}

export class StatusManager implements StatusUpdateSink {
  readonly #deps: StatusManagerDependencies;
  readonly #entries = new Map<PodUID, Entry>();
  readonly #work: KeyedWorkQueue<PodUID>;
  /** Those that could not be sent because the server did not answer. */
  readonly #unanswered = new Set<PodUID>();

  constructor(dependencies: StatusManagerDependencies) {
    const { clock, random, podManager } = dependencies;
    this.#deps = dependencies;
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

  /** Compares with what the API server has, every 10 s until the signal aborts: what somebody else wrote is set right. */
  async watch(signal: AbortSignal): Promise<void> {
    for (;;) {
      await this.#deps.clock.sleep(sweepPeriodMs, signal).catch(() => {});
      if (signal.aborted) return;
      this.sweep();
    }
  }

  set(update: StatusUpdate): void {
    const uid = podUID(update.pod);
    const entry = this.#entries.get(uid);
    if (entry) {
      entry.update = update;
      entry.changedAtMs ??= this.#deps.clock.monotonic();
      return this.#schedule(uid, entry);
    }
    const changedAtMs = this.#deps.clock.monotonic();
    const hold = new CoalesceTimer(this.#deps.clock);
    const added: Entry = {
      update,
      changedAtMs,
      answer: null,
      unheard: null,
      gone: null,
      deleted: null,
      hold,
      isHurried: false,
      onWritten: new Set(),
    };
    this.#entries.set(uid, added);
    this.#schedule(uid, added);
  }

  /**
   * The API source has read everything afresh. What we were answered before may be of a cluster that was restored from an older copy since,
   * and counts no more; had only our last write been faster than the list, the watch shows it next.
   */
  onListed(): void {
    for (const entry of this.#entries.values()) Object.assign(entry, { answer: null, deleted: null });
  }

  /** What is not written of the pod's status is written now: a change that follows is not waited for. */
  expedite(uid: PodUID): void {
    const entry = this.#entries.get(uid);
    if (!entry || entry.changedAtMs === null) return;
    entry.isHurried = true;
    this.#schedule(uid, entry);
  }

  /**
   * Resolves when the newest status of the pod is written, or when there is no object to write it to. Undefined: it is already. After the
   * signal has aborted nobody waits, and the promise may stay pending.
   */
  whenWritten(uid: PodUID, signal: AbortSignal): Promise<void> | undefined {
    const entry = this.#entries.get(uid);
    if (!entry || entry.changedAtMs === null || !this.#base(entry)) return undefined;
    return new Promise((resolve) => {
      entry.onWritten.add(resolve);
      // A status may be refused for good, and warnings may go on.
      signal.addEventListener('abort', () => entry.onWritten.delete(resolve), { once: true });
    });
  }

  /** Nothing more is sent of this pod. */
  forget(uid: PodUID): void {
    const entry = this.#entries.get(uid);
    entry?.hold.cancel();
    if (entry) this.#wakeWaiters(entry);
    this.#entries.delete(uid);
    this.#unanswered.delete(uid);
    this.#work.forget(uid);
  }

  sweep(): void {
    for (const [uid, entry] of this.#entries) {
      // If the source still has it, the server is asked once more.
      entry.gone = null;
      if (!this.#work.isBusy(uid) && !entry.hold.isWaiting) this.#schedule(uid, entry);
    }
  }

  /** Aborts what is in flight. */
  async close(): Promise<void> {
    for (const { hold } of this.#entries.values()) hold.cancel();
    await this.#work.close();
  }

  /** A mirror pod came, to which a status may be due; or a pod was deleted that has ended already. */
  #onObject(object: Pod): void {
    const uid = this.#deps.podManager.translatePodUID(podUID(object));
    const entry = this.#entries.get(uid);
    if (entry && (entry.update.isFinished || uid !== podUID(object))) this.#schedule(uid, entry);
  }

  /** Enqueues the pod when there is something to do for it, now or when its wait is over. */
  #schedule(uid: PodUID, entry: Entry): void {
    // Against what will be there then: it is looked at again when the request has ended.
    if (!this.#work.isInFlight(uid)) contain(this.#faultOf(entry.update.pod), () => this.#plan(uid, entry));
  }

  #plan(uid: PodUID, entry: Entry): void {
    const base = this.#base(entry);
    if (!base) return;
    const { patch, next } = this.#compute(entry, base);
    const remove = this.#mayBeRemoved(entry, base);
    if (!patch && !remove) {
      entry.hold.cancel();
      return this.#settled(entry);
    }
    const waitMs =
      patch && !remove && !entry.isHurried ? coalesceDelayMs(base, next, entry.update.status, this.#firstStatusInMs(entry)) : 0;
    if (waitMs > 0) return entry.hold.start(waitMs, () => this.#work.enqueue(uid));
    entry.hold.cancel();
    this.#work.enqueue(uid, isUrgent(base, next));
  }

  #firstStatusInMs({ update }: Entry): number {
    const { firstStatusDelayMs = 0, clock } = this.#deps;
    return Math.max(0, firstSeenMs(update.pod) + firstStatusDelayMs - clock.now());
  }

  async #sync(uid: PodUID, signal: AbortSignal): Promise<void> {
    const entry = this.#entries.get(uid);
    if (entry && (await this.#write(entry, signal))) this.#answered(uid);
    // What came meanwhile; the pod may even have been forgotten, and have come again.
    const newest = this.#entries.get(uid);
    if (newest) this.#plan(uid, newest);
  }

  /** False: there is no object to write to. */
  async #write(entry: Entry, signal: AbortSignal): Promise<boolean> {
    for (let conflicts = 0; conflicts < maxConflicts; conflicts += 1) {
      const base = this.#base(entry);
      if (!base) return conflicts > 0;
      try {
        await this.#send(entry, base, signal);
        return true;
      } catch (err) {
        if (isNotFound(err)) {
          this.#log(entry).debug('Pod does not exist on the server');
          entry.gone = base.metadata.uid;
          this.#wakeWaiters(entry);
          return true;
        }
        if (!isConflict(err)) throw err;
        await this.#readAgain(entry, base, signal);
      }
    }
    throw new KubeletError('Conflict', 'the pod changes faster than its status can be written');
  }

  async #send(entry: Entry, base: Pod, signal: AbortSignal): Promise<void> {
    const { update } = entry;
    const { patch } = this.#compute(entry, base);
    const path = podPath(base);
    if (patch) {
      entry.answer = await this.#deps.client.call<Pod>({
        method: 'PATCH',
        path: `${path}/status`,
        patch: 'strategic',
        body: patch,
        trafficClass: 'status',
        // It may be overtaken by a newer one before the next try.
        maxAttempts: 1,
        signal,
      });
      entry.unheard = unheardOf(entry.answer, update);
      this.#log(entry).debug({ patch }, 'Status for pod updated successfully');
    }
    if (entry.update === update) this.#settled(entry);
    const object = entry.answer ?? base;
    if (!this.#mayBeRemoved(entry, object)) return;
    await deletePodObject(this.#deps.client, object, { trafficClass: 'status', signal });
    entry.deleted = object.metadata.uid;
    this.#log(entry).debug('Pod fully terminated and removed from etcd');
  }

  /** After a conflict: somebody has written, or the name is another pod's now. */
  async #readAgain(entry: Entry, base: Pod, signal: AbortSignal): Promise<void> {
    const found = await this.#deps.client
      .call<Pod>({ method: 'GET', path: podPath(base), trafficClass: 'status', maxAttempts: 1, signal })
      .catch((err: unknown) => {
        if (isNotFound(err)) return null;
        throw err;
      });
    if (found?.metadata.uid === base.metadata.uid) {
      entry.answer = found;
      return;
    }
    if (found) this.#log(entry).info({ newUID: found.metadata.uid }, 'Pod was deleted and then recreated, skipping status update');
    entry.gone = base.metadata.uid;
    this.#wakeWaiters(entry);
  }

  /** The newest that is known of the object that takes the status. */
  #base(entry: Entry): Pod | undefined {
    const { pod } = entry.update;
    const mirror = this.#deps.podManager.mirrorOf(pod);
    if (isStaticPod(pod) && !(mirror && isMirrorOf(mirror, pod))) return undefined;
    const uid = podUID(mirror ?? pod);
    if (entry.gone === uid) return undefined;
    const seen = this.#deps.apiPod(uid);
    if (seen && entry.answer && isNewer(entry.answer, seen)) return entry.answer;
    entry.answer = null;
    return seen;
  }

  #compute({ update, unheard }: Entry, base: Pod): { next: PodStatus; patch: StatusPatch | null } {
    const next = toApiStatus(base.status ?? {}, update);
    const patch = statusPatch(base, next);
    const isUnheard = patch && base.metadata.resourceVersion === unheard?.resourceVersion && JSON.stringify(patch.status) === unheard?.text;
    return { next, patch: isUnheard ? null : patch };
  }

  #mayBeRemoved({ update, deleted }: Entry, object: Pod): boolean {
    return !isStaticPod(update.pod) && deleted !== object.metadata.uid && canBeDeleted(object, update.isFinished);
  }

  /** Nothing is left to be written, for now. */
  #settled(entry: Entry): void {
    this.#wakeWaiters(entry);
    if (entry.changedAtMs === null) return;
    podStatusSyncDuration.observe((this.#deps.clock.monotonic() - entry.changedAtMs) / 1000);
    entry.changedAtMs = null;
  }

  #wakeWaiters(entry: Entry): void {
    entry.isHurried = false;
    for (const resolve of entry.onWritten) resolve();
    entry.onWritten.clear();
  }

  /** The server is there: those that failed because it was not need not wait any longer. */
  #answered(uid: PodUID): void {
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
    this.#log(entry).error({ err, retryAfterMs: Math.round(retryAfterMs) }, 'Failed to update status for pod');
  }

  /** The next sweep tries again. */
  #faultOf({ metadata: { name, namespace, uid } }: Pod) {
    return { handler: 'status manager', logger: this.#deps.logger, fields: { pod: `${namespace}/${name}`, podUID: uid } };
  }

  #log({ update }: Entry): Logger {
    const { namespace, name, uid } = update.pod.metadata;
    return this.#deps.logger.child({ pod: `${namespace}/${name}`, podUID: uid });
  }
}

/** What of the update the answer to its patch does not have. */
function unheardOf(answer: Pod, update: StatusUpdate): Entry['unheard'] {
  const missing = statusPatch(answer, toApiStatus(answer.status ?? {}, update));
  return missing && { text: JSON.stringify(missing.status), resourceVersion: answer.metadata.resourceVersion };
}
