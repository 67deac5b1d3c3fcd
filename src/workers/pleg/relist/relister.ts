/**
 * The relist (upstream GenericPLEG.Relist): fetches both lists of the runtime each period, compares them with the records, and requests
 * inspections of the changed pods. A relist does not wait for inspections, so the next one starts on time. A failed relist changes no
 * record, because a missing list is not an empty one, and is retried with back-off.
 */
import type { PlegNotification } from '../../../shared/contracts/pleg.ts';
import type { PodUID } from '../../../shared/kubernetes/ids.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import * as metrics from '../../../shared/metrics/definitions/pleg.ts';
import { snapshotStates, type RuntimeSnapshotWriter } from '../../../shared/state/runtime-snapshot.ts';
import { nextBackoffMs, withJitter } from '../../../shared/time/backoff.ts';
import type { Clock } from '../../../shared/time/clock.ts';
import type { InspectionQueue } from '../inspection/inspection-queue.ts';
import type { PlegRuntime } from '../pleg-runtime.ts';
import { hasReadySandbox } from '../records/pod-record.ts';
import type { PodRecords } from '../records/pod-records.ts';

/** Bounds the delay until a returning runtime is detected. */
export const maxBackoffMs = 3000;

export interface RelisterDependencies {
  readonly runtime: PlegRuntime;
  readonly records: PodRecords;
  readonly snapshot: RuntimeSnapshotWriter;
  readonly inspections: InspectionQueue;
  readonly post: (message: PlegNotification) => void;
  /** Posts a pod's status from the lists to main. */
  readonly postListedStatus: (uid: PodUID, listedAtMs: number) => void;
  readonly relistPeriodMs: number;
  /**
   * Called before lists are requested: until `onListed`, the thread waits for the runtime, also between a failed request and the next one. Not called
   * after lists that the thread itself failed to process, because it then does not wait for the runtime.
   */
  readonly onListing: () => void;
  readonly onListed: () => void;
  /** Called after every successful relist, as the thread's heartbeat. */
  readonly onRelisted: () => void;
  /** Called after the first success that follows a failure. */
  readonly onRuntimeReturned: () => void;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

export class Relister {
  readonly #deps: RelisterDependencies;
  /** The relist that `relist` has requested and that has not begun. */
  #requested: PromiseWithResolvers<void> | null = null;
  /** Ends the pause between two relists. */
  #wake: () => void = () => {};
  #lastStartedAtMs: number | undefined;
  /** Monotonic ms of the first failure in a row. */
  #failingSinceMs: number | undefined;
  /** The version of the records at the last count for the metrics. */
  #countedVersion = -1;
  /** Lists have arrived, and are not processed to the end. True at the start of a relist: this thread failed to process the previous lists. */
  #hasUnprocessedLists = false;
  /** Pods in the snapshot of this thread's predecessor, until the first relist. */
  readonly #inherited = new Set<PodUID>();
  /** A predecessor existed, and main has statuses from its inspections. */
  #isSuccessor = false;

  constructor(dependencies: RelisterDependencies) {
    this.#deps = dependencies;
  }

  /** Requests a relist that starts after this call. Resolves when its events are posted. Rejects with the runtime's error. */
  relist(): Promise<void> {
    this.#requested ??= Promise.withResolvers();
    this.#wake();
    return this.#requested.promise;
  }

  /** Relists until the signal aborts, which also cancels the running relist. */
  async run(): Promise<void> {
    const { relistPeriodMs, clock, signal } = this.#deps;
    let backoffMs: number | undefined;
    while (!signal.aborted) {
      const startedAtMs = clock.monotonic();
      const succeeded = await this.#relistOnce(startedAtMs);
      const tookMs = clock.monotonic() - startedAtMs;
      backoffMs = succeeded
        ? undefined
        : nextBackoffMs(backoffMs, { initialMs: relistPeriodMs, maxMs: Math.max(relistPeriodMs, maxBackoffMs) });
      // Leaves the runtime idle for at least half the period.
      const pauseMs = backoffMs === undefined ? Math.max(relistPeriodMs - tookMs, relistPeriodMs / 2) : withJitter(backoffMs, 0.1);
      if (!this.#requested && !signal.aborted) await this.#pause(pauseMs);
    }
    this.#requested?.reject(signal.reason);
  }

  /** Runs one relist for the period and for all requests before its start. */
  async #relistOnce(startedAtMs: number): Promise<boolean> {
    const requested = this.#requested;
    this.#requested = null;
    // The callers may no longer await the result.
    requested?.promise.catch(() => {});
    try {
      await this.#list(startedAtMs);
    } catch (err) {
      this.#fail(err);
      requested?.reject(err);
      return false;
    }
    this.#succeed();
    const { isFirstRelist } = this.#deps.records;
    const isFirstOfSuccessor = this.#isSuccessor && isFirstRelist;
    const uninspected = this.#inspectChangedPods(startedAtMs, requested !== null || isFirstOfSuccessor);
    const mainKnowsNothing = isFirstRelist && !isFirstOfSuccessor;
    void this.#postWhenReported(startedAtMs, uninspected, mainKnowsNothing).then(requested?.resolve);
    return true;
  }

  async #list(startedAtMs: number): Promise<void> {
    const { runtime, records, snapshot, clock, signal } = this.#deps;
    if (this.#lastStartedAtMs !== undefined) metrics.plegRelistInterval.observe((startedAtMs - this.#lastStartedAtMs) / 1000);
    this.#lastStartedAtMs = startedAtMs;
    if (!this.#hasUnprocessedLists) this.#deps.onListing();
    const controller = new AbortController();
    const stop = () => controller.abort(signal.reason);
    signal.addEventListener('abort', stop);
    try {
      const [sandboxes, containers] = await Promise.all([
        runtime.listSandboxes(controller.signal),
        runtime.listContainers(controller.signal, (id) => records.containersOf(id)),
      ]);
      this.#deps.onListed();
      this.#hasUnprocessedLists = true;
      const listedAtMs = clock.monotonic();
      for (const uid of snapshot.dropInherited()) this.#inherited.add(uid);
      this.#isSuccessor ||= this.#inherited.size > 0;
      records.applyLists(sandboxes, containers, startedAtMs, listedAtMs);
      this.#postVanished();
      snapshot.setRelistedAt(startedAtMs);
      metrics.plegRelistScanDuration.observe((clock.monotonic() - listedAtMs) / 1000);
      metrics.plegListBytes.set(sumOfLengths(sandboxes), sandboxesLabel);
      metrics.plegListBytes.set(sumOfLengths(containers), containersLabel);
      if (this.#deps.logger.isLevelEnabled('debug')) this.#deps.logger.debug({ tookMs: listedAtMs - startedAtMs }, 'relisted');
      this.#hasUnprocessedLists = false;
    } finally {
      // After the failure of one list the other is useless.
      controller.abort();
      signal.removeEventListener('abort', stop);
      metrics.plegRelistDuration.observe((clock.monotonic() - startedAtMs) / 1000);
    }
  }

  /** Main still has these pods from the predecessor. They disappeared while no thread relisted. */
  #postVanished(): void {
    const removed = [...this.#inherited].filter((uid) => !this.#deps.records.get(uid));
    this.#inherited.clear();
    if (removed.length > 0) this.#deps.post({ statuses: [], removed, events: removed.map((podUID) => ({ type: 'PodSync', podUID })) });
  }

  #fail(err: unknown): void {
    const { logger, signal, clock } = this.#deps;
    if (signal.aborted) return;
    metrics.plegRelistErrors.inc();
    if (this.#failingSinceMs === undefined) logger.error({ err }, 'GenericPLEG: Unable to retrieve pods');
    else logger.debug({ err }, 'GenericPLEG: Unable to retrieve pods again');
    this.#failingSinceMs ??= clock.monotonic();
  }

  #succeed(): void {
    const { records, clock, logger, onRelisted, onRuntimeReturned } = this.#deps;
    metrics.plegLastSeen.set(Math.floor(clock.now() / 1000));
    onRelisted();
    if (this.#failingSinceMs !== undefined) {
      const { sandboxes, containers } = records.counts();
      logger.info({ failedForMs: Math.round(clock.monotonic() - this.#failingSinceMs), sandboxes, containers }, 'relist succeeds again');
      this.#failingSinceMs = undefined;
      onRuntimeReturned();
    }
    if (records.version !== this.#countedVersion) this.#count();
  }

  /** Runs only after changes: counting allocates, and an unchanged relist must not. */
  #count(): void {
    const { records } = this.#deps;
    this.#countedVersion = records.version;
    let runningPods = 0;
    for (const record of records.all()) if (hasReadySandbox(record)) runningPods += 1;
    metrics.runningPods.set(runningPods);
    records
      .containersByState()
      .forEach((count, state) => metrics.runningContainers.set(count, { container_state: snapshotStates[state]! }));
    metrics.plegItemsOutsideSnapshot.set(records.counts().outsideSnapshot);
  }

  /**
   * Requests inspections of the due pods. With `immediately`, all changed pods are due. Returns the pods whose inspection waits: main's
   * status of them lags behind this relist.
   */
  #inspectChangedPods(listedAtMs: number, immediately: boolean): readonly PodUID[] | undefined {
    const { records, inspections, postListedStatus, clock } = this.#deps;
    const nowMs = clock.monotonic();
    let uninspected: PodUID[] | undefined;
    for (const record of records.podsToInspect()) {
      if (record.inspectAtMs <= nowMs || (immediately && !record.reinspect)) inspections.inspectListed(record.uid, listedAtMs);
      else if (records.isFirstRelist) postListedStatus(record.uid, listedAtMs);
      // Main already has the failure of the last inspection.
      else if (!record.reinspect) (uninspected ??= []).push(record.uid);
    }
    return uninspected;
  }

  /**
   * Posts the end of the relist after main has a status of every changed pod, or knows that its inspection is slow. Main's cache is then
   * complete. Pending inspections of earlier relists count too, which keeps these messages in order. A pod whose inspection has failed, because the runtime was
   * unavailable, must not seem to have nothing in the runtime: main would end it.
   */
  async #postWhenReported(relistedAtMs: number, waiting: readonly PodUID[] | undefined, mainKnowsNothing: boolean): Promise<void> {
    const { inspections, post, postListedStatus, signal } = this.#deps;
    const failed: PodUID[] = [];
    await Promise.all(
      inspections.unreported().map(async ({ uid, reported }) => {
        if (!(await reported)) failed.push(uid);
      }),
    );
    if (signal.aborted) return;
    if (mainKnowsNothing) for (const uid of failed) postListedStatus(uid, relistedAtMs);
    const uninspected = [...(waiting ?? []), ...(mainKnowsNothing ? [] : failed)];
    post({ relistedAtMs, ...(uninspected.length > 0 && { uninspected }), statuses: [], removed: [], events: [] });
  }

  async #pause(ms: number): Promise<void> {
    const { clock, signal } = this.#deps;
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = clock.after(ms, resolve);
    this.#wake = resolve;
    signal.addEventListener('abort', this.#wake);
    await promise;
    cancel();
    signal.removeEventListener('abort', this.#wake);
    this.#wake = () => {};
  }
}

const sandboxesLabel = { list: 'sandboxes' } as const;
const containersLabel = { list: 'containers' } as const;

function sumOfLengths(messages: readonly Uint8Array[]): number {
  let length = 0;
  for (const message of messages) length += message.length;
  return length;
}
