/**
 * The sync loop: collects updates, lifecycle events, probe results and due pods, and calls their handlers. Every notification of the pleg
 * thread enters main here. Upstream: syncLoop and syncLoopIteration in pkg/kubelet/kubelet.go.
 *
 * Upstream takes due pods from the work queue each second. Here each update, event and due pod starts an iteration; a tick each second
 * remains for the heartbeat and for housekeeping. While the runtime is down no iteration runs, because every sync would fail. The
 * queues are bounded meanwhile: sources keep their newest pods, events are kept by pod and container. A step that throws ends; the loop
 * continues with the next one. Statuses and probe results wait for no iteration.
 */
import { setImmediate as nextIteration } from 'node:timers/promises';
import { contain, reportFault } from '../shared/faults/contain.ts';
import type { PlegNotification, PodLifecycleEvent } from '../shared/contracts/pleg.ts';
import type { ProbeResult } from '../shared/contracts/probes.ts';
import type { ContainerID, PodUID } from '../shared/kubernetes/ids.ts';
import type { Logger } from '../shared/log/logger.ts';
import type { Clock } from '../shared/time/clock.ts';

export interface SyncLoopDependencies {
  /** Main's copy of the pods' runtime statuses. Returns the pods whose status changed. */
  readonly cache: { apply(notification: PlegNotification): readonly PodUID[] };
  /** Called at the start and the end of an iteration. `/healthz/syncloop` watches the calls. */
  readonly beat: () => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The parts that act. They are created after the loop, because they wake it. Upstream: SyncHandler. */
export interface SyncLoopHandlers<Update> {
  /** Why the runtime can't be used now; null when it can. */
  readonly runtimeErrors: () => string | null;
  /** The runtime statuses of these pods changed. Called at once, not in an iteration. */
  readonly refreshStatuses: (uids: readonly PodUID[]) => void;
  /** Whether the starts that the pleg thread reports now are those of the pod's own task, which need no sync. */
  readonly shouldIgnoreStarts: (uid: PodUID) => boolean;
  /** Takes the changes of the sources. */
  readonly takeUpdates: () => readonly Update[];
  /** The next update waits until the promise settles. */
  readonly handleUpdate: (update: Update) => void | Promise<void>;
  /** These pods changed in the runtime, or are due. */
  readonly handlePodSyncs: (uids: Iterable<PodUID>) => void;
  /** A container started or died. */
  readonly handleContainerChanged: (uid: PodUID, id: ContainerID) => void;
  /** Shows the results in the statuses. Called at once, not in an iteration. Returns the pods whose containers must be restarted or started. */
  readonly applyProbeResults: (results: readonly ProbeResult[]) => ReadonlySet<PodUID>;
  /** Syncs these pods because of probe results, before all other pods that wait for a sync. */
  readonly handleProbeSyncs: (uids: ReadonlySet<PodUID>) => void;
  /** Takes the due pods from the work queue. */
  readonly takeDue: () => readonly PodUID[];
  readonly sourcesReady: () => boolean;
  readonly housekeep: () => void;
  /** Called instead of `housekeep` while a source has not reported. */
  readonly housekeepKnownPods: () => void;
}

const tickMs = 1000;
/** Upstream's housekeepingPeriod. */
const housekeepingPeriodMs = 2000;
/** Upstream's housekeepingWarningDuration. */
const housekeepingWarningMs = 1000;
/** While the runtime is down: from 100 ms, doubling, to 5 s. */
const backOff = { baseMs: 100, maxMs: 5000, factor: 2 };
/** The most containers whose changes are kept until the next iteration. Container GC removes the dead instances of all others. */
const maxChangedContainers = 10_000;

export class SyncLoop<Update> {
  readonly #deps: SyncLoopDependencies;
  /** Null until the loop runs: there is no pod worker before. */
  #handlers: SyncLoopHandlers<Update> | null = null;
  #hasSourceReport = false;
  #changedPods = new Set<PodUID>();
  #changedContainers = new Map<ContainerID, PodUID>();
  #hasDuePods = false;
  /** When housekeeping is due; monotonic. −Infinity when it was requested. */
  #housekeepingAtMs = 0;
  /** Ends the wait for work, if the loop waits. */
  #wake: () => void = () => {};

  constructor(dependencies: SyncLoopDependencies) {
    this.#deps = dependencies;
  }

  /** A source may have updates to take. */
  onSourceReport(): void {
    this.#hasSourceReport = true;
    this.#wake();
  }

  /**
   * Applies statuses at once: they wait neither for an update nor for the runtime. Events wait for the next iteration. Events before the
   * first iteration are dropped: every pod gets its first sync then.
   */
  onPlegNotification(notification: PlegNotification): void {
    const changed = this.#deps.cache.apply(notification);
    const handlers = this.#handlers;
    if (!handlers) return;
    this.#contain('pod statuses', () => handlers.refreshStatuses(changed));
    this.#contain('pod lifecycle events', () => this.#queueEvents(handlers, notification));
  }

  #queueEvents({ shouldIgnoreStarts }: SyncLoopHandlers<Update>, { events }: PlegNotification): void {
    if (events.length === 0) return;
    for (const event of events) {
      if (needsSync(event, shouldIgnoreStarts)) this.#changedPods.add(event.podUID);
      const isContainerChange = event.type === 'ContainerDied' || event.type === 'ContainerStarted';
      if (isContainerChange && this.#changedContainers.size < maxChangedContainers) {
        this.#changedContainers.set(event.containerID, event.podUID);
      }
    }
    this.#wake();
  }

  /**
   * Applies probe results at once: neither a status nor the restart of a failed container waits for updates of other pods. While the runtime is
   * down, restarts wait for it. No pod is probed before the loop runs.
   */
  onProbeResults(results: readonly ProbeResult[]): void {
    const handlers = this.#handlers;
    if (!handlers || results.length === 0) return;
    const uids = this.#contain('probe results', () => handlers.applyProbeResults(results));
    if (!uids?.size) return;
    if (handlers.runtimeErrors() === null) return this.#contain('probe results', () => handlers.handleProbeSyncs(uids));
    for (const uid of uids) this.#changedPods.add(uid);
  }

  /** The work queue has due pods. */
  onDue(): void {
    this.#hasDuePods = true;
    this.#wake();
  }

  /** Makes the next iteration run housekeeping. */
  requestHousekeeping(): void {
    this.#housekeepingAtMs = -Infinity;
    this.#wake();
  }

  /** Resolves when the signal aborts. */
  async run(handlers: SyncLoopHandlers<Update>, signal: AbortSignal): Promise<void> {
    const { beat, clock, logger } = this.#deps;
    this.#handlers = handlers;
    logger.info('Starting kubelet main sync loop');
    let delayMs = backOff.baseMs;
    while (!signal.aborted) {
      const problem = handlers.runtimeErrors();
      if (problem !== null) {
        logger.error({ err: problem, retryAfterMs: delayMs }, 'Skipping pod synchronization');
        await clock.sleep(delayMs, signal).catch(() => {});
        delayMs = Math.min(backOff.maxMs, delayMs * backOff.factor);
        continue;
      }
      delayMs = backOff.baseMs;
      beat();
      await this.#iterate(handlers);
      beat();
      await this.#waitForWork(signal);
    }
  }

  async #iterate(handlers: SyncLoopHandlers<Update>): Promise<void> {
    const { takeUpdates, handleUpdate, handlePodSyncs, handleContainerChanged, takeDue } = handlers;
    this.#hasSourceReport = false;
    for (const update of this.#contain('updates', takeUpdates) ?? []) {
      try {
        await handleUpdate(update);
      } catch (err) {
        reportFault(this.#step('update'), err);
      }
    }
    if (this.#changedPods.size > 0) {
      const changed = this.#changedPods;
      this.#changedPods = new Set();
      this.#contain('pod lifecycle events', () => handlePodSyncs(changed));
    }
    const changedContainers = this.#changedContainers;
    this.#changedContainers = new Map();
    for (const [id, uid] of changedContainers) this.#contain('container changed', () => handleContainerChanged(uid, id));
    this.#hasDuePods = false;
    const due = this.#contain('work queue', takeDue) ?? [];
    if (due.length > 0) this.#contain('due pods', () => handlePodSyncs(due));
    this.#contain('housekeeping', () => this.#housekeepWhenDue(handlers));
  }

  #contain<T>(step: string, work: () => T): T | undefined {
    return contain(this.#step(step), work);
  }

  #step(step: string) {
    return { handler: 'sync loop', logger: this.#deps.logger, fields: { step } };
  }

  #housekeepWhenDue({ sourcesReady, housekeep, housekeepKnownPods }: SyncLoopHandlers<Update>): void {
    const { clock, logger } = this.#deps;
    const startedAtMs = clock.monotonic();
    if (startedAtMs < this.#housekeepingAtMs) return;
    this.#housekeepingAtMs = startedAtMs + housekeepingPeriodMs;
    // Housekeeping ends the pods that no source wants. A source that has not reported yet may want any pod.
    if (!sourcesReady()) return housekeepKnownPods();
    housekeep();
    const tookMs = clock.monotonic() - startedAtMs;
    if (tookMs > housekeepingWarningMs)
      logger.error({ expectedMs: housekeepingWarningMs, tookMs }, 'Housekeeping took longer than expected');
  }

  /** Resolves when there is work, and at the next tick. */
  #waitForWork(signal: AbortSignal): Promise<void> {
    const queued = this.#changedPods.size + this.#changedContainers.size;
    const hasWork = queued > 0 || this.#hasSourceReport || this.#hasDuePods || this.#housekeepingAtMs === -Infinity;
    // A loop that always has work must not starve the rest of the thread.
    if (hasWork || signal.aborted) return nextIteration();
    return new Promise((resolve) => {
      const wake = () => {
        this.#wake = () => {};
        cancel();
        signal.removeEventListener('abort', wake);
        resolve();
      };
      const cancel = this.#deps.clock.after(tickMs, wake);
      signal.addEventListener('abort', wake);
      this.#wake = wake;
    });
  }
}

/** Upstream: isSyncPodWorthy. Only the kubelet removes containers, and it needs no sync for that. */
function needsSync({ type, podUID }: PodLifecycleEvent, shouldIgnoreStarts: (uid: PodUID) => boolean): boolean {
  return type !== 'ContainerRemoved' && !(type === 'ContainerStarted' && shouldIgnoreStarts(podUID));
}
