/**
 * Joins the sources of pods into one ordered stream of changes (upstream pkg/kubelet/config). It holds what each source said last;
 * what that means is decided in merge-pods.ts.
 *
 * Changes are found when they are taken, not when a source reports: a source that changes its mind while nobody takes (the runtime is
 * down) leaves its last word and nothing else, so what waits here is never more than one snapshot for each source. A source that tells
 * only what changed costs only that: of 500 pods none is looked at because another one's status was written.
 */
import type { Clock } from '../../shared/time/clock.ts';
import type { Logger } from '../../shared/log/logger.ts';
import type { Pod } from '../../shared/kubernetes/api.ts';
import type { RecordedEvent } from '../../shared/contracts/event.ts';
import { podUID, type PodUID } from '../../shared/kubernetes/ids.ts';
import { reportFault } from '../../shared/errors/contain.ts';
import {
  isPod,
  mergeChanges,
  mergePods,
  type MergeFault,
  type PodChange,
  type PodChanges,
  type PodSource,
  type PodUpdate,
} from './merge-pods.ts';

export interface PodConfigOptions {
  /** Every source there is: until each has reported once, no pod is known to be gone. */
  readonly sources: readonly PodSource[];
  /** A source has reported: there may be something to take. */
  readonly onReport: () => void;
  readonly onEvent: (event: RecordedEvent) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** What a source has said since it was last taken. */
interface Report {
  /** All its pods; null: it only told what changed. */
  readonly snapshot: readonly Pod[] | null;
  /** What changed after that, each pod's last word. */
  readonly changes: Map<PodUID, PodChange>;
  /** Pods of the snapshot that were gone for a moment: they end and start anew. */
  readonly recreated: ReadonlySet<PodUID>;
}

export class PodConfig {
  readonly #options: PodConfigOptions;
  /** As they were last taken. */
  readonly #pods = new Map<PodSource, Map<PodUID, Pod>>();
  readonly #reported = new Map<PodSource, Report>();

  constructor(options: PodConfigOptions) {
    this.#options = options;
  }

  /** All pods that the source has now; what it had before and not any more is removed. `recreated` were removed and came again. */
  set(source: PodSource, snapshot: readonly Pod[], recreated: ReadonlySet<PodUID> = new Set()): void {
    const before = this.#reported.get(source)?.recreated ?? new Set();
    this.#reported.set(source, { snapshot, changes: new Map(), recreated: before.union(recreated) });
    this.#options.onReport();
  }

  /** What the source has changed since it last said something; its pods must have been `set` once. */
  change(source: PodSource, changes: PodChanges): void {
    const known = this.#pods.get(source);
    const report = this.#reported.get(source) ?? { snapshot: null, changes: new Map<PodUID, PodChange>(), recreated: new Set<PodUID>() };
    if (!known && !report.snapshot) throw new Error(`the source ${source} told of changes before it told of its pods`);
    for (const [uid, change] of changes) {
      report.changes.delete(uid);
      // A pod that came and went while nobody took was never there.
      const wasThere = report.snapshot ? report.snapshot.some((one) => podUID(one) === uid) : known?.has(uid);
      if (isPod(change) || wasThere) report.changes.set(uid, change);
    }
    this.#reported.set(source, report);
    this.#options.onReport();
  }

  /**
   * What has changed since this was last called, in the order in which it must be handled. A source's first report is told even when it
   * is empty, as an ADD of no pods.
   */
  take(): PodUpdate[] {
    const taken = [...this.#reported];
    this.#reported.clear();
    return taken.flatMap(([source, { snapshot, changes, recreated }]) =>
      snapshot ? this.#mergeAll(source, withChanges(snapshot, changes), recreated) : this.#mergeChanges(source, changes),
    );
  }

  /** True from the moment at which the first report of the last of all sources was taken. */
  seenAllSources(): boolean {
    return this.#options.sources.every((source) => this.#pods.has(source));
  }

  #mergeAll(source: PodSource, snapshot: readonly Pod[], recreated: ReadonlySet<PodUID>): readonly PodUpdate[] {
    const known = this.#pods.get(source);
    const { pods, updates, duplicates, faults } = mergePods(known ?? new Map(), source, snapshot, this.#seenAt(), recreated);
    this.#report(faults);
    for (const pod of duplicates) this.#refuse(pod, source);
    this.#pods.set(source, pods);
    return known || updates.length > 0 ? updates : [{ op: 'ADD', source, pods: [] }];
  }

  #mergeChanges(source: PodSource, changes: PodChanges): readonly PodUpdate[] {
    const known = this.#pods.get(source) ?? new Map<PodUID, Pod>();
    const { pods, updates, faults } = mergeChanges(known, source, changes, this.#seenAt());
    this.#report(faults);
    for (const [uid, pod] of pods) {
      if (pod) known.set(uid, pod);
      else known.delete(uid);
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

  #refuse(pod: Pod, source: PodSource): void {
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

function withChanges(snapshot: readonly Pod[], changes: PodChanges): readonly Pod[] {
  if (changes.size === 0) return snapshot;
  const kept = snapshot.filter((pod) => !changes.has(podUID(pod)));
  return [...kept, ...[...changes.values()].filter(isPod)];
}

/**
 * All sources are ready once each has reported *and* the sync loop has handled that report (upstream SourcesReady): the loop adds a
 * source as it handles an update of it. Only then may what is not configured be cleaned up.
 */
export class SourcesReady {
  readonly #handled = new Set<PodSource>();
  readonly #sources: readonly PodSource[];

  constructor(sources: readonly PodSource[]) {
    this.#sources = sources;
  }

  addSource(source: PodSource): void {
    this.#handled.add(source);
  }

  allReady(): boolean {
    return this.#sources.every((source) => this.#handled.has(source));
  }
}
