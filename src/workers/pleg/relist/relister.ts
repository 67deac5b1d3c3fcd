/**
 * The relist: both lists of the runtime each period, compared with what is known, and looks at the pods that changed. It waits for no
 * look: the next relist comes when it is due. A relist that fails teaches nothing (a list that could not be had is not an empty
 * one), and is tried again with a growing delay. Upstream: GenericPLEG.Relist.
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
import type { PodRecords } from '../records/pod-records.ts';

/** A runtime that is back is found within this. */
const longestBackoffMs = 3000;

export interface RelisterDependencies {
  readonly runtime: PlegRuntime;
  readonly records: PodRecords;
  readonly snapshot: RuntimeSnapshotWriter;
  readonly looks: InspectionQueue;
  readonly post: (message: PlegNotification) => void;
  /** Tells main of a pod what the lists said of it. */
  readonly tellListed: (uid: PodUID, listedAtMs: number) => void;
  readonly relistPeriodMs: number;
  /** After every relist that succeeded: the thread's heartbeat. */
  readonly onRelisted: () => void;
  /** The first relist that succeeded after one that did not. */
  readonly onRuntimeReturned: () => void;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

export class Relister {
  readonly #deps: RelisterDependencies;
  #asked: PromiseWithResolvers<void> | null = null;
  #wake: () => void = () => {};
  #lastBeganAtMs: number | undefined;
  /** Monotonic ms since which relists fail. */
  #failingSinceMs: number | undefined;
  #countedVersion = -1;
  /** Pods that a predecessor knew, until the first relist. */
  readonly #inherited = new Set<PodUID>();
  /** There was one, and it has told main more than lists say. */
  #isSuccessor = false;

  constructor(dependencies: RelisterDependencies) {
    this.#deps = dependencies;
  }

  /** A relist that begins after this call. Resolves when its events are posted; rejects with the runtime's error. */
  relist(): Promise<void> {
    this.#asked ??= Promise.withResolvers();
    this.#wake();
    return this.#asked.promise;
  }

  /** Relists until the signal; the relist under way ends with it. */
  async run(): Promise<void> {
    const { relistPeriodMs, clock, signal } = this.#deps;
    let backoffMs: number | undefined;
    while (!signal.aborted) {
      const beganAtMs = clock.monotonic();
      const succeeded = await this.#once(beganAtMs);
      const tookMs = clock.monotonic() - beganAtMs;
      backoffMs = succeeded
        ? undefined
        : nextBackoffMs(backoffMs, { initialMs: relistPeriodMs, maxMs: Math.max(relistPeriodMs, longestBackoffMs) });
      // A runtime that needs half the period for its lists is left alone for the other half.
      const pauseMs = backoffMs === undefined ? Math.max(relistPeriodMs - tookMs, relistPeriodMs / 2) : withJitter(backoffMs, 0.1);
      if (!this.#asked && !signal.aborted) await this.#pause(pauseMs);
    }
    this.#asked?.reject(signal.reason);
  }

  /** One relist, for the next period and for all who asked before it began. */
  async #once(beganAtMs: number): Promise<boolean> {
    const asked = this.#asked;
    this.#asked = null;
    // Who asked may be gone.
    asked?.promise.catch(() => {});
    try {
      await this.#list(beganAtMs);
    } catch (err) {
      this.#fail(err);
      asked?.reject(err);
      return false;
    }
    this.#succeed();
    const isFirstOfSuccessor = this.#isSuccessor && this.#deps.records.isFirstList;
    const unlooked = this.#look(beganAtMs, asked !== null || isFirstOfSuccessor);
    void this.#postWhenTold(beganAtMs, unlooked).then(asked?.resolve);
    return true;
  }

  async #list(beganAtMs: number): Promise<void> {
    const { runtime, records, snapshot, clock, signal } = this.#deps;
    if (this.#lastBeganAtMs !== undefined) metrics.plegRelistInterval.observe((beganAtMs - this.#lastBeganAtMs) / 1000);
    this.#lastBeganAtMs = beganAtMs;
    const both = new AbortController();
    const stop = () => both.abort(signal.reason);
    signal.addEventListener('abort', stop);
    try {
      const [sandboxes, containers] = await Promise.all([runtime.listSandboxes(both.signal), runtime.listContainers(both.signal)]);
      const listedAtMs = clock.monotonic();
      for (const uid of snapshot.dropInherited()) this.#inherited.add(uid);
      this.#isSuccessor ||= this.#inherited.size > 0;
      records.applyLists(sandboxes, containers, beganAtMs, listedAtMs);
      this.#postVanished();
      snapshot.relisted(beganAtMs);
      metrics.plegRelistScanDuration.observe((clock.monotonic() - listedAtMs) / 1000);
      metrics.plegListBytes.set(sumOfLengths(sandboxes), sandboxesLabel);
      metrics.plegListBytes.set(sumOfLengths(containers), containersLabel);
      if (this.#deps.logger.isLevelEnabled('debug')) this.#deps.logger.debug({ tookMs: listedAtMs - beganAtMs }, 'relisted');
    } finally {
      // One list failed: the other is of no use.
      both.abort();
      signal.removeEventListener('abort', stop);
      metrics.plegRelistDuration.observe((clock.monotonic() - beganAtMs) / 1000);
    }
  }

  /** Main still knows them from this thread's predecessor: they went while nobody looked. */
  #postVanished(): void {
    const gone = [...this.#inherited].filter((uid) => !this.#deps.records.get(uid));
    this.#inherited.clear();
    if (gone.length > 0) this.#deps.post({ statuses: [], gone, events: gone.map((podUID) => ({ type: 'PodSync', podUID })) });
  }

  #fail(err: unknown): void {
    const { logger, signal, clock } = this.#deps;
    if (signal.aborted) return;
    metrics.plegRelistErrors.inc();
    if (this.#failingSinceMs === undefined)
      logger.error({ err }, 'relist failed; what is known of the runtime stays as it is until it answers');
    else logger.debug({ err }, 'relist failed again');
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

  /** Only when something changed: counting makes objects, and an unchanged relist should make none. */
  #count(): void {
    const { records } = this.#deps;
    this.#countedVersion = records.version;
    metrics.runningPods.set(records.runningPods());
    records
      .containersByState()
      .forEach((count, state) => metrics.runningContainers.set(count, { container_state: snapshotStates[state]! }));
    metrics.plegItemsOutsideSnapshot.set(records.counts().outsideSnapshot);
  }

  /** Answers with the pods whose looks can wait (`atOnce`: none can): this relist saw more of them than main is told now. */
  #look(listedAtMs: number, atOnce: boolean): readonly PodUID[] | undefined {
    const { records, looks, tellListed, clock } = this.#deps;
    const nowMs = clock.monotonic();
    let later: PodUID[] | undefined;
    for (const record of records.dirty()) {
      if (record.retryAtMs <= nowMs || (atOnce && !record.reinspect)) void looks.inspect(record.uid, listedAtMs);
      else if (records.isFirstList) tellListed(record.uid, listedAtMs);
      // Main has heard that a look failed.
      else if (!record.reinspect) (later ??= []).push(record.uid);
    }
    return later;
  }

  /**
   * Once main was told of every pod that this relist found changed (of a slow one: that it is slow), its cache is complete. Pods that
   * an earlier relist found changed are among them while they wait, so these messages stay in order.
   */
  async #postWhenTold(relistedAtMs: number, unlooked: readonly PodUID[] | undefined): Promise<void> {
    const { looks, post, signal } = this.#deps;
    const untold = looks.untold();
    if (untold.length > 0) await Promise.all(untold);
    if (!signal.aborted) post({ relistedAtMs, ...(unlooked && { uninspected: unlooked }), statuses: [], gone: [], events: [] });
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
