/**
 * Joins the sources of pods into one ordered stream of updates (upstream pkg/kubelet/config). Stores the newest report of each source;
 * merge-pods.ts computes the updates.
 *
 * Updates are computed when the sync loop takes them, not when a source reports: while the runtime is down, each source keeps one
 * snapshot at most. The cost of a source that reports changes depends on the changes: of 500 pods none is compared because the status of
 * another one was written.
 */
import type { Clock } from '../../shared/time/clock.ts';
import type { Logger } from '../../shared/log/logger.ts';
import type { Pod } from '../../shared/kubernetes/api.ts';
import type { RecordedEvent } from '../../shared/contracts/event.ts';
import { podUID, type PodUID } from '../../shared/kubernetes/ids.ts';
import { Listeners } from '../../shared/concurrency/listeners.ts';
import { reportFault } from '../../shared/faults/contain.ts';
import {
  isPod,
  mergeChanges,
  mergePods,
  type MergeFault,
  type PodChange,
  type SourceChanges,
  type PodSource,
  type PodUpdate,
} from './merge-pods.ts';
import { splitChanges } from './split-changes.ts';

export interface PodConfigOptions {
  /** All sources. Until each has reported once, no pod counts as removed. */
  readonly sources: readonly PodSource[];
  /** Called when a source has reported. */
  readonly onReport: () => void;
  readonly onEvent: (event: RecordedEvent) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The reports of a source since the last `take`. */
interface Report {
  /** All pods of the source; null when it reported only changes. */
  readonly snapshot: readonly Pod[] | null;
  /** The changes after the snapshot: the newest version of each pod. */
  readonly changes: Map<PodUID, PodChange>;
  /** Pods of the snapshot that were removed and created again: they end, and start again. */
  readonly recreated: ReadonlySet<PodUID>;
}

export class PodConfig {
  readonly #options: PodConfigOptions;
  /** The pods of the last `take`. */
  readonly #pods = new Map<PodSource, Map<PodUID, Pod>>();
  readonly #reported = new Map<PodSource, Report>();

  constructor(options: PodConfigOptions) {
    this.#options = options;
  }

  /** Reports all pods of the source; its other pods are removed. `recreated`: pods that were removed and created again. */
  set(source: PodSource, snapshot: readonly Pod[], recreated: ReadonlySet<PodUID> = new Set()): void {
    const previouslyRecreated = this.#reported.get(source)?.recreated ?? new Set();
    this.#reported.set(source, { snapshot, changes: new Map(), recreated: previouslyRecreated.union(recreated) });
    this.#options.onReport();
  }

  /** Reports changes since the last report. Throws when the pods of the source were never `set`. */
  change(source: PodSource, changes: SourceChanges): void {
    const knownPods = this.#pods.get(source);
    const report = this.#reported.get(source) ?? { snapshot: null, changes: new Map<PodUID, PodChange>(), recreated: new Set<PodUID>() };
    if (!knownPods && !report.snapshot) throw new Error(`the source ${source} reported changes before its pods`);
    for (const [uid, change] of changes) {
      report.changes.delete(uid);
      // A pod that was created and deleted between two takes needs no update.
      const wasKnown = report.snapshot ? report.snapshot.some((candidate) => podUID(candidate) === uid) : knownPods?.has(uid);
      if (isPod(change) || wasKnown) report.changes.set(uid, change);
    }
    this.#reported.set(source, report);
    this.#options.onReport();
  }

  /**
   * Returns the updates since the last call, in the order in which they must be handled. Of many changes a part comes with the next call, which another
   * report requests. The first report of a source without pods is an ADD of no pods.
   */
  take(): PodUpdate[] {
    const reports = [...this.#reported];
    this.#reported.clear();
    return reports.flatMap(([source, { snapshot, changes, recreated }]) =>
      snapshot ? this.#mergeAll(source, withChanges(snapshot, changes), recreated) : this.#mergeChanges(source, changes),
    );
  }

  #mergeAll(source: PodSource, snapshot: readonly Pod[], recreated: ReadonlySet<PodUID>): readonly PodUpdate[] {
    const knownPods = this.#pods.get(source);
    const { pods, updates, duplicates, faults } = mergePods(knownPods ?? new Map(), source, snapshot, this.#seenAt(), recreated);
    this.#report(faults);
    for (const pod of duplicates) this.#ignore(pod, source);
    this.#pods.set(source, pods);
    return knownPods || updates.length > 0 ? updates : [{ op: 'ADD', source, pods: [] }];
  }

  #mergeChanges(source: PodSource, changes: SourceChanges): readonly PodUpdate[] {
    const knownPods = this.#pods.get(source) ?? new Map<PodUID, Pod>();
    const { now, later } = splitChanges(changes, knownPods);
    if (later.size > 0) {
      this.#reported.set(source, { snapshot: null, changes: later, recreated: new Set() });
      this.#options.onReport();
    }
    const { pods, updates, faults } = mergeChanges(knownPods, source, now, this.#seenAt());
    this.#report(faults);
    for (const [uid, pod] of pods) {
      if (pod) knownPods.set(uid, pod);
      else knownPods.delete(uid);
    }
    return updates;
  }

  #seenAt(): string {
    return new Date(this.#options.clock.now()).toISOString();
  }

  #report(faults: readonly MergeFault[]): void {
    for (const { pod, err } of faults) {
      const { name, namespace, uid } = pod.metadata;
      reportFault({ handler: 'pod config', logger: this.#options.logger, fields: { pod: `${namespace}/${name}`, podUID: uid } }, err);
    }
  }

  #ignore(pod: Pod, source: PodSource): void {
    const { name, namespace, uid } = pod.metadata;
    this.#options.logger.warn({ pod: `${namespace}/${name}`, podUID: uid, source }, 'Pod ignored, its source has another pod of that name');
    this.#options.onEvent({
      object: { kind: 'Pod', name, namespace, uid },
      type: 'Warning',
      reason: 'FailedValidation',
      message: `Error validating pod ${name}_${namespace}(${uid}) from ${source} due to duplicate pod name ${JSON.stringify(name)}, ignoring`,
    });
  }
}

function withChanges(snapshot: readonly Pod[], changes: SourceChanges): readonly Pod[] {
  if (changes.size === 0) return snapshot;
  const unchangedPods = snapshot.filter((pod) => !changes.has(podUID(pod)));
  return [...unchangedPods, ...[...changes.values()].filter(isPod)];
}

/**
 * Upstream: SourcesReady. A source is ready when it has reported and the sync loop has handled the report. Until all sources are ready, a
 * pod without a source must not be cleaned up.
 */
export class SourcesReady {
  readonly #handled = new Set<PodSource>();
  readonly #listeners = new Listeners();
  readonly sources: readonly PodSource[];

  constructor(sources: readonly PodSource[]) {
    this.sources = sources;
  }

  /** Calls the listener when the last source has reported. */
  onReady(listener: () => void): void {
    this.#listeners.add(listener);
  }

  addSource(source: PodSource): void {
    const wasReady = this.allReady();
    this.#handled.add(source);
    if (!wasReady && this.allReady()) this.#listeners.notify();
  }

  allReady(): boolean {
    return this.sources.every((source) => this.#handled.has(source));
  }

  /** Resolves when all sources are ready, or when the signal aborts. */
  async untilReady(signal: AbortSignal): Promise<void> {
    if (!this.allReady()) await this.#listeners.next(signal);
  }
}
