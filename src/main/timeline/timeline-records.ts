/** The rows of the table that main writes: one per pod, found by UID. A pod that has finished keeps its row until another pod needs it. */
import { contain } from '../../shared/faults/contain.ts';
import { timelinePhases, type ContainerPhase, type TimelinePhase } from '../../shared/contracts/timeline.ts';
import type { PodUID } from '../../shared/kubernetes/ids.ts';
import type { Logger } from '../../shared/log/logger.ts';
import { podsWithoutTimeline } from '../../shared/metrics/definitions/pods.ts';
import type { TableWriter } from '../../shared/state/typed-table.ts';
import type { Clock } from '../../shared/time/clock.ts';
import { peekTimeline, type PodTimeline } from '../../shared/timeline/pod-timeline.ts';
import { shortenName, truncateBytes } from '../../shared/timeline/shorten.ts';
import { toCells, type TimelineSpan } from '../../shared/timeline/span.ts';
import {
  containerRows,
  maxTexts,
  peekSpan,
  sharedRow,
  spanKey,
  spanUpdate,
  timelineSources,
  timelineTable,
  type ContainerRow,
  type TimelineFields,
  type TimelineSource,
} from '../../shared/timeline/timeline-table.ts';

export type Phase = TimelinePhase | ContainerPhase;
export type TimelineValues = Parameters<TableWriter<TimelineFields>['update']>[1];
type NumberField = 'seenAtMs' | 'deletionWantedAtMs' | 'objectGoneAtMs' | 'finishedAtMs' | 'restored' | 'reported' | 'problemOrigin';

export interface TimelineRecordsOptions {
  readonly buffer: SharedArrayBuffer;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly logger: Logger;
}

/** The place of a span in its row. */
export interface SpanPlace {
  /** Several containers share the span. */
  readonly merged: boolean;
}

/** Bounds `#missing`. */
const maxMissing = 10_000;

export class TimelineRecords {
  /** The table, for the server thread. */
  readonly buffer: SharedArrayBuffer;
  readonly #table: TableWriter<TimelineFields>;
  readonly #options: TimelineRecordsOptions;
  readonly #rows = new Map<PodUID, number>();
  /** Pods whose rows other pods may get, oldest first. */
  readonly #finished = new Set<PodUID>();
  /** Pods that found no free row; at most `maxMissing`. */
  readonly #missing = new Set<PodUID>();

  constructor(options: TimelineRecordsOptions) {
    this.#options = options;
    this.buffer = options.buffer;
    this.#table = timelineTable.writer(options.buffer);
  }

  has(uid: PodUID): boolean {
    return this.#rows.has(uid);
  }

  get(uid: PodUID): PodTimeline | undefined {
    const row = this.#rows.get(uid);
    return row === undefined ? undefined : peekTimeline(this.#table, row);
  }

  /** Reads one field. Returns 0 for a pod without a row. */
  number(uid: PodUID, field: NumberField): number {
    const row = this.#rows.get(uid);
    return row === undefined ? 0 : this.#table.peek(row, field);
  }

  /** Begins the pod's record, instead of an earlier one. Without a free row, the pod has none: all recorded pods still run or terminate. */
  add(
    uid: PodUID,
    { namespace, name, source, ...pod }: { namespace: string; name: string; source: TimelineSource; restored: boolean; containers: number },
  ): void {
    const { clock } = this.#options;
    const values = {
      seenAtMs: clock.monotonic(),
      epochMs: clock.now() - clock.monotonic(),
      uid: shortenName(uid, maxTexts.uid),
      namespace: truncateBytes(namespace, maxTexts.namespace),
      name: truncateBytes(name, maxTexts.name),
      source: timelineSources.indexOf(source),
      restored: pod.restored ? 1 : 0,
      containers: Math.min(255, pod.containers),
    };
    this.#contain(uid, () => {
      const existing = this.#rows.get(uid);
      this.#finished.delete(uid);
      if (existing !== undefined) this.#table.putSparse(existing, values);
      else if (this.#table.used < this.#table.capacity || this.#dropOldest()) this.#rows.set(uid, this.#table.insertSparse(values));
      else this.#countMissing(uid);
    });
  }

  /** The row may be given to another pod. */
  setFinished(uid: PodUID): void {
    if (this.#rows.has(uid)) this.#finished.add(uid);
  }

  isFinished(uid: PodUID): boolean {
    return this.#finished.has(uid);
  }

  update(uid: PodUID, values: TimelineValues): void {
    const row = this.#rows.get(uid);
    if (row !== undefined) this.#contain(uid, () => this.#table.update(row, values));
  }

  /** Undefined for a phase that never began. `container` is given for the phases of a container, and not for those of the pod. */
  span(uid: PodUID, phase: Phase, container?: string): TimelineSpan | undefined {
    const row = this.#rows.get(uid);
    if (row === undefined || (container === undefined) !== isTimelinePhase(phase)) return undefined;
    const containerRow = container === undefined ? undefined : this.#containerRow(row, container);
    return peekSpan(this.#table, row, spanKey(phase, containerRow), this.#table.peek(row, 'seenAtMs'));
  }

  /** Replaces a span by the result of `change`, unless that is undefined or the same. Returns the new span if it was replaced. */
  change(
    uid: PodUID,
    phase: Phase,
    container: string | undefined,
    change: (span: TimelineSpan | undefined, place: SpanPlace) => TimelineSpan | undefined,
  ): TimelineSpan | undefined {
    const row = this.#rows.get(uid);
    if (row === undefined || (container === undefined) !== isTimelinePhase(phase)) return undefined;
    return this.#contain(uid, () => {
      const containerRow = container === undefined ? undefined : this.#containerRow(row, container);
      const originMs = this.#table.peek(row, 'seenAtMs');
      const key = spanKey(phase, containerRow);
      const before = peekSpan(this.#table, row, key, originMs);
      const after = change(before, { merged: containerRow === sharedRow });
      if (after === undefined || after === before) return undefined;
      this.#table.update(row, spanUpdate(key, toCells(after, originMs)));
      return after;
    });
  }

  /** The size of the image that was pulled for the container; 0: it was present. */
  setImageBytes(uid: PodUID, container: string, bytes: number): void {
    const row = this.#rows.get(uid);
    if (row === undefined) return;
    this.#contain(uid, () => {
      const containerRow = this.#containerRow(row, container);
      const before = containerRow === sharedRow ? this.#table.peek(row, `imageKiB${sharedRow}`) : 0;
      const imageKiB = Math.min(2 ** 32 - 1, before + Math.ceil(bytes / 1024));
      this.#table.update(row, { [`imageKiB${containerRow}`]: imageKiB });
    });
  }

  /** Frees the row of the pod that finished first. Returns false when no pod has finished. */
  #dropOldest(): boolean {
    const [oldest] = this.#finished;
    const row = oldest === undefined ? undefined : this.#rows.get(oldest);
    if (oldest === undefined || row === undefined) return false;
    this.#finished.delete(oldest);
    this.#rows.delete(oldest);
    this.#table.free(row);
    return true;
  }

  /** Counts a pod once, although each of its updates tries to add it. The set is bounded, because such pods may come and go. */
  #countMissing(uid: PodUID): void {
    if (this.#missing.has(uid)) return;
    if (this.#missing.size === 0)
      this.#options.logger.warn(
        { podUID: uid, rows: this.#table.capacity },
        'all rows of the pod timelines are in use: further pods have none',
      );
    if (this.#missing.size < maxMissing) this.#missing.add(uid);
    podsWithoutTimeline.inc();
  }

  /** Returns the container's row: its own, a free one, or the last one, which further containers share. */
  #containerRow(row: number, container: string): ContainerRow {
    const name = shortenName(container, maxTexts.containerName);
    const found = containerRows.find((index) => {
      const taken = this.#table.peek(row, `name${index}`);
      return taken === '' || taken === name;
    });
    const index = found ?? sharedRow;
    if (this.#table.peek(row, `name${index}`) !== name) this.#table.update(row, { [`name${index}`]: name });
    return index;
  }

  #contain<T>(uid: PodUID, work: () => T): T | undefined {
    return contain({ handler: 'pod timelines', logger: this.#options.logger, fields: { podUID: uid } }, work);
  }
}

const podPhaseSet: ReadonlySet<string> = new Set(timelinePhases);

export function isTimelinePhase(phase: Phase): phase is TimelinePhase {
  return podPhaseSet.has(phase);
}
