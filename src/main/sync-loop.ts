/**
 * The sync loop, and nothing else: what happened is taken from where it arrived and handed to whoever acts on it. Upstream: syncLoop and
 * syncLoopIteration in pkg/kubelet/kubelet.go.
 *
 * Upstream drains the due pods each second; here the loop is woken by whatever happens: an update, an event, a pod whose time has come.
 * A tick each second remains for the heartbeat, every second one of them is housekeeping's. While the runtime is down nothing is handed
 * on: it would only fail. What waits meanwhile is bounded: sources keep their last word, events are kept by pod and container, results
 * by container and probe. A step that throws is over; the loop goes on with the next.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { contain, reportFault } from '../shared/errors/contain.ts';
import type { InspectionRequest, PodLifecycleEvent } from '../shared/contracts/pleg.ts';
import type { ProbeResult } from '../shared/contracts/probes.ts';
import type { ContainerID, PodUID } from '../shared/kubernetes/ids.ts';
import type { Logger } from '../shared/log/logger.ts';
import type { Clock } from '../shared/time/clock.ts';

export interface SyncLoopDependencies<Update> {
  /** Why the runtime can't be used now; null: it can. */
  readonly runtimeErrors: () => string | null;
  /** Takes what the sources have changed. */
  readonly takeUpdates: () => readonly Update[];
  /** Those that follow wait until it is done. */
  readonly handleUpdate: (update: Update) => void | Promise<void>;
  /** These pods changed in the runtime. */
  readonly handlePodSyncs: (uids: Iterable<PodUID>) => void;
  /** Whether the starts that an inspection reports are those of the pod's own task, which need no sync. */
  readonly shouldIgnoreStarts: (inspection: InspectionRequest) => boolean;
  /** A container has started or died. */
  readonly handleContainerChanged: (uid: PodUID, id: ContainerID) => void;
  readonly handleProbeResults: (results: readonly ProbeResult[]) => void;
  /** Takes what is due from the work queue. */
  readonly takeDue: () => readonly PodUID[];
  readonly sourcesReady: () => boolean;
  readonly housekeep: () => void;
  /** The loop came round: `/healthz/syncloop` watches this. */
  readonly beat: () => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

const tickMs = 1000;
/** Upstream's housekeepingPeriod. */
const housekeepingPeriodMs = 2000;
/** Upstream's housekeepingWarningDuration. */
const housekeepingWarningMs = 1000;
/** While the runtime is down: from 100 ms, doubling, to 5 s. */
const backOff = { baseMs: 100, maxMs: 5000, factor: 2 };
/** Containers whose changes may wait for a round; the dead instances of others are left to container GC. */
const maxChangedContainers = 10_000;

export class SyncLoop<Update> {
  readonly #deps: SyncLoopDependencies<Update>;
  #reported = false;
  #changedPods = new Set<PodUID>();
  #changedContainers = new Map<ContainerID, PodUID>();
  #probeResults = new Map<string, ProbeResult>();
  #due = false;
  #housekeepingAtMs = 0;
  #ring: () => void = () => {};

  constructor(dependencies: SyncLoopDependencies<Update>) {
    this.#deps = dependencies;
  }

  /** A source has said which pods it has. */
  onSourceReport(): void {
    this.#reported = true;
    this.#ring();
  }

  onLifecycleEvents(events: readonly PodLifecycleEvent[], inspection?: InspectionRequest): void {
    const ignoresStarts = inspection !== undefined && this.#deps.shouldIgnoreStarts(inspection);
    for (const event of events) {
      // The kubelet itself removes containers (upstream: isSyncPodWorthy).
      const isIgnored = event.type === 'ContainerRemoved' || (event.type === 'ContainerStarted' && ignoresStarts);
      if (!isIgnored) this.#changedPods.add(event.podUID);
      const isContainerChange = event.type === 'ContainerDied' || event.type === 'ContainerStarted';
      if (isContainerChange && this.#changedContainers.size < maxChangedContainers) {
        this.#changedContainers.set(event.containerID, event.podUID);
      }
    }
    this.#ring();
  }

  onProbeResults(results: readonly ProbeResult[]): void {
    for (const result of results) this.#probeResults.set(`${result.containerID}/${result.probe}`, result);
    this.#ring();
  }

  /** A pod's time has come. */
  onDue(): void {
    this.#due = true;
    this.#ring();
  }

  /** The next round is housekeeping's too. */
  requestHousekeeping(): void {
    this.#housekeepingAtMs = -Infinity;
    this.#ring();
  }

  /** Resolves when the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { runtimeErrors, beat, clock, logger } = this.#deps;
    logger.info('Starting kubelet main sync loop');
    let delayMs = backOff.baseMs;
    while (!signal.aborted) {
      const problem = runtimeErrors();
      if (problem !== null) {
        logger.error({ err: problem, retryAfterMs: delayMs }, 'Skipping pod synchronization');
        await clock.sleep(delayMs, signal).catch(() => {});
        delayMs = Math.min(backOff.maxMs, delayMs * backOff.factor);
        continue;
      }
      delayMs = backOff.baseMs;
      beat();
      await this.#iterate();
      beat();
      await this.#somethingToDo(signal);
    }
  }

  async #iterate(): Promise<void> {
    const { takeUpdates, handleUpdate, handlePodSyncs, handleContainerChanged, handleProbeResults, takeDue } = this.#deps;
    this.#reported = false;
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
    if (this.#probeResults.size > 0) {
      const results = [...this.#probeResults.values()];
      this.#probeResults = new Map();
      this.#contain('probe results', () => handleProbeResults(results));
    }
    this.#due = false;
    const due = this.#contain('work queue', takeDue) ?? [];
    if (due.length > 0) this.#contain('due pods', () => handlePodSyncs(due));
    this.#contain('housekeeping', () => this.#housekeepWhenDue());
  }

  #contain<T>(step: string, work: () => T): T | undefined {
    return contain(this.#step(step), work);
  }

  #step(step: string) {
    return { handler: 'sync loop', logger: this.#deps.logger, fields: { step } };
  }

  #housekeepWhenDue(): void {
    const { clock, logger, sourcesReady, housekeep } = this.#deps;
    const startedAtMs = clock.monotonic();
    if (startedAtMs < this.#housekeepingAtMs) return;
    this.#housekeepingAtMs = startedAtMs + housekeepingPeriodMs;
    // A pod of a source that has not reported yet must not be taken for one that nobody wants.
    if (!sourcesReady()) return;
    housekeep();
    const tookMs = clock.monotonic() - startedAtMs;
    if (tookMs > housekeepingWarningMs)
      logger.error({ expectedMs: housekeepingWarningMs, tookMs }, 'Housekeeping took longer than expected');
  }

  /** Returns at the next thing that happens, and each second. */
  #somethingToDo(signal: AbortSignal): Promise<void> {
    const waiting = this.#changedPods.size + this.#changedContainers.size + this.#probeResults.size;
    // The rest of the thread has its turn: a loop that is never out of work must not starve it.
    if (waiting > 0 || this.#reported || this.#due || this.#housekeepingAtMs === -Infinity || signal.aborted) return nextTurn();
    return new Promise((resolve) => {
      const wake = () => {
        this.#ring = () => {};
        cancel();
        signal.removeEventListener('abort', wake);
        resolve();
      };
      const cancel = this.#deps.clock.after(tickMs, wake);
      signal.addEventListener('abort', wake);
      this.#ring = wake;
    });
  }
}
