/** Writes the timelines of all pods into the shared table. Every method is cheap, never throws, and ignores pods without a row. */
import { contain } from '../../shared/errors/contain.ts';
import type { Pod } from '../../shared/kubernetes/api.ts';
import type { EnsureImageRequest, EnsureImageResult } from '../../shared/contracts/images.ts';
import type { RuntimePodStatus } from '../../shared/contracts/runtime-status.ts';
import {
  containerPhases,
  podPhases,
  type ContainerPhase,
  type PhaseReport,
  type PodPhase,
  type WaitKind,
} from '../../shared/contracts/timeline.ts';
import { configSourceAnnotation } from '../../shared/kubernetes/annotations.ts';
import { podUID, type PodUID } from '../../shared/kubernetes/ids.ts';
import type { Logger } from '../../shared/log/logger.ts';
import type { TableWriter } from '../../shared/state/typed-table.ts';
import type { Clock } from '../../shared/time/clock.ts';
import { peekTimeline, type PodTimeline } from '../../shared/timeline/pod-timeline.ts';
import { shortenName, truncateBytes } from '../../shared/timeline/shorten.ts';
import { beginSpan, beginWait, endSpan, endWait, toCells, type Span, type SpanBegin } from '../../shared/timeline/span.ts';
import {
  containerRows,
  emptyRow,
  maxTexts,
  peekSpan,
  problemOrigins,
  sharedRow,
  spanKey,
  spanUpdate,
  timelineSources,
  timelineTable,
  type ContainerRow,
  type ProblemOrigin,
  type TimelineFields,
  type TimelineSource,
} from '../../shared/timeline/timeline-table.ts';
import { isDeleted } from '../pods/termination/is-deleted.ts';

type Phase = PodPhase | ContainerPhase;

export interface PodTimelinesOptions {
  readonly buffer: SharedArrayBuffer;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly logger: Logger;
}

export interface PhaseOptions extends Partial<SpanBegin> {
  readonly container?: string;
}

/** Phases of a task. What a lost task left open ends with it. */
const taskPhases: ReadonlySet<Phase> = new Set<Phase>([
  'Volumes',
  'Sandbox',
  'Create',
  'Start',
  'PostStart',
  'PreStop',
  'Stop',
  'SandboxStop',
  'VolumeUnmount',
  'CgroupRemoval',
  'CleanUp',
]);
/** These repeat while a pod runs: the record keeps those of the start. */
const repeatedPhases: ReadonlySet<Phase> = new Set<Phase>(['Queue', 'Sync', 'Volumes', 'StatusWrite']);
/** What follows this long after the pod ran no longer belongs to its start. */
const settleMs = 10_000;

export class PodTimelines {
  readonly #table: TableWriter<TimelineFields>;
  readonly #options: PodTimelinesOptions;
  readonly #rows = new Map<PodUID, number>();
  /** Oldest first: their rows are reused when the table is full. */
  readonly #finished = new Set<PodUID>();
  /** Called when a span begins, with its pod. */
  onBegin: (uid: PodUID, phase: Phase, span: Span) => void = () => {};

  constructor(options: PodTimelinesOptions) {
    this.#options = options;
    this.#table = timelineTable.writer(options.buffer);
  }

  /** A source has the pod, maybe for the first time. `isRunning`: its containers run already. */
  see(pod: Pod, isRunning: boolean): void {
    this.#contain(podUID(pod), () => {
      const uid = podUID(pod);
      const row = this.#rows.get(uid);
      const isGone = row !== undefined && this.#table.peek(row, 'objectGoneAtMs') !== 0;
      if (row === undefined || (isGone && this.#finished.has(uid))) this.#add(pod, isRunning);
      else if (isGone) this.#table.update(row, { objectGoneAtMs: 0 });
      if (isDeleted(pod)) this.#setOnce(uid, 'deletionWantedAtMs');
    });
  }

  /** Only the runtime knows the pod. */
  seeInRuntime({ podUID: uid, namespace, name }: RuntimePodStatus): void {
    this.#contain(uid, () => {
      if (!this.#rows.has(uid)) this.#insert(uid, { namespace, name, source: 'runtime', restored: true, containers: 0 });
    });
  }

  /** No source has the pod any more. */
  objectGone(uid: PodUID): void {
    this.#contain(uid, () => {
      this.#setOnce(uid, 'deletionWantedAtMs');
      this.#setOnce(uid, 'objectGoneAtMs');
    });
  }

  begin(uid: PodUID, phase: Phase, { container, ...begin }: PhaseOptions = {}): void {
    this.#change(uid, phase, container, (span, { merged, isSettled }) => {
      if (isSettled && span && repeatedPhases.has(phase)) return span;
      return beginSpan(span, { ...begin, atMs: begin.atMs ?? this.#options.clock.monotonic() }, merged);
    });
  }

  /** Does nothing while the phase is open. */
  beginOnce(uid: PodUID, phase: Phase, options: PhaseOptions = {}): void {
    if (!this.isOpen(uid, phase, options.container)) this.begin(uid, phase, options);
  }

  end(uid: PodUID, phase: Phase, options: { readonly container?: string; readonly atMs?: number; readonly failed?: boolean } = {}): void {
    const { container, atMs = this.#options.clock.monotonic(), failed = false } = options;
    this.#change(uid, phase, container, (span) => span && endSpan(span, { atMs, failed }));
  }

  /** The open phase waits. Call the result when the wait is over. Without a container, a container's phase is the open one. */
  wait(uid: PodUID, phase: Phase, wait: WaitKind): () => void {
    const container = isPodPhase(phase) ? undefined : this.#openContainer(uid, phase);
    if (!isPodPhase(phase) && container === undefined) return () => {};
    const { clock } = this.#options;
    this.#change(uid, phase, container, (span) => span && beginWait(span, wait, clock.monotonic()));
    return () => this.#change(uid, phase, container, (span) => span && endWait(span, clock.monotonic()));
  }

  /** Calls `work`, for which the open phase waits, and settles like it. */
  async duringWait<T>(uid: PodUID, phase: Phase, wait: WaitKind, work: () => Promise<T>): Promise<T> {
    const end = this.wait(uid, phase, wait);
    try {
      return await work();
    } finally {
      end();
    }
  }

  /** Calls `ensure`, which is the phase Image of the request's container. */
  async measureImage<T extends Pick<EnsureImageResult, 'outcome'>>(
    { podUID: uid, containerName: container }: Pick<EnsureImageRequest, 'podUID' | 'containerName'>,
    ensure: () => Promise<T>,
  ): Promise<T> {
    this.begin(uid, 'Image', { container });
    let failed = true;
    try {
      const result = await ensure();
      failed = result.outcome === 'failed';
      return result;
    } finally {
      this.end(uid, 'Image', { container, failed });
    }
  }

  /** The open phase is tried again at this time. */
  retryAt(uid: PodUID, phase: Phase, dueMs: number): void {
    this.#change(uid, phase, undefined, (span) => span && { ...span, dueAfterMs: Math.max(0, dueMs - span.startMs) });
  }

  /** A task's report. */
  report(uid: PodUID, report: PhaseReport): void {
    const { edge, phase, container, atMs } = report;
    switch (edge) {
      case 'begin':
        return this.begin(uid, phase, report);
      case 'wait':
        return this.#change(uid, phase, container, (span) => span && beginWait(span, report.wait, atMs));
      case 'proceed':
        return this.#change(uid, phase, container, (span) => span && endWait(span, atMs));
      case 'end':
      case 'failed':
        return this.end(uid, phase, { ...report, failed: edge === 'failed' });
      default:
        edge satisfies never;
    }
  }

  /** The task of the pod is over: what it left open has failed. */
  taskEnded(uid: PodUID): void {
    for (const { phase, container, outcome } of this.get(uid)?.spans ?? []) {
      if (outcome === 'open' && taskPhases.has(phase)) this.end(uid, phase, { failed: true, ...(container !== undefined && { container }) });
    }
  }

  setProblem(uid: PodUID, origin: Exclude<ProblemOrigin, 'none'>, text: string): void {
    this.#update(uid, { problem: truncateBytes(text, maxTexts.problem), problemOrigin: problemOrigins.indexOf(origin) });
  }

  clearProblem(uid: PodUID, origin: ProblemOrigin): void {
    const row = this.#rows.get(uid);
    if (row !== undefined && this.#table.peek(row, 'problemOrigin') === problemOrigins.indexOf(origin))
      this.#update(uid, { problem: '', problemOrigin: 0 });
  }

  refused(uid: PodUID): void {
    this.end(uid, 'Admission', { failed: true });
    this.end(uid, 'Running', { failed: true });
    this.end(uid, 'Ready', { failed: true });
    this.#update(uid, { refused: 1 });
  }

  /** The pod terminates; call this again when its grace period shrinks. Null: an unknown grace period. */
  terminating(uid: PodUID, graceSeconds: number | null): void {
    const seconds = Math.min(2 ** 32 - 1, Math.max(0, graceSeconds ?? 0));
    this.#update(uid, { graceSeconds: seconds });
    if (this.isOpen(uid, 'Termination')) return this.#shrink(uid, this.#options.clock.monotonic() + seconds * 1000);
    this.end(uid, 'Running', { failed: true });
    this.end(uid, 'Ready', { failed: true });
    this.begin(uid, 'Termination', { dueMs: this.#options.clock.monotonic() + seconds * 1000 });
  }

  /** The grace period of the open steps ends sooner. */
  #shrink(uid: PodUID, dueMs: number): void {
    for (const { phase, container, startMs, dueAfterMs } of this.get(uid)?.spans ?? []) {
      const isLater = startMs + dueAfterMs > dueMs;
      if (!isLater || dueAfterMs === Infinity || (phase !== 'PreStop' && phase !== 'Stop' && phase !== 'Termination')) continue;
      this.#change(uid, phase, container, (span) => span && { ...span, dueAfterMs: Math.max(0, dueMs - span.startMs) });
    }
  }

  /** Nothing of the pod is left on the node but its folder. */
  finished(uid: PodUID): void {
    this.end(uid, 'Termination');
    this.#contain(uid, () => this.#setOnce(uid, 'finishedAtMs'));
    if (this.#rows.has(uid)) this.#finished.add(uid);
  }

  isOpen(uid: PodUID, phase: Phase, container?: string): boolean {
    return this.#span(uid, phase, container)?.outcome === 'open';
  }

  get(uid: PodUID): PodTimeline | undefined {
    const row = this.#rows.get(uid);
    return row === undefined ? undefined : peekTimeline(this.#table, row);
  }

  /** Whether an event was recorded for the phase. */
  isReported(uid: PodUID, phase: Phase): boolean {
    const row = this.#rows.get(uid);
    return row !== undefined && (this.#table.peek(row, 'reported') & phaseBit(phase)) !== 0;
  }

  markReported(uid: PodUID, phase: Phase): void {
    const row = this.#rows.get(uid);
    if (row !== undefined) this.#update(uid, { reported: (this.#table.peek(row, 'reported') | phaseBit(phase)) >>> 0 });
  }

  #add(pod: Pod, isRunning: boolean): void {
    const uid = podUID(pod);
    const { namespace, name, annotations } = pod.metadata;
    const source = timelineSources.find((one) => one === annotations?.[configSourceAnnotation]) ?? 'api';
    const { containers, initContainers = [] } = pod.spec;
    const restored = isRunning || pod.status?.startTime !== undefined;
    this.#insert(uid, { namespace, name, source, restored, containers: containers.length + initContainers.length });
    if (restored) return;
    for (const phase of ['Running', 'Ready'] as const) this.begin(uid, phase);
  }

  #insert(
    uid: PodUID,
    {
      namespace,
      name,
      source,
      restored,
      containers,
    }: { namespace: string; name: string; source: TimelineSource; restored: boolean; containers: number },
  ): void {
    const { clock } = this.#options;
    const values = {
      ...emptyRow(),
      seenAtMs: clock.monotonic(),
      epochMs: clock.now() - clock.monotonic(),
      uid: shortenName(uid, maxTexts.uid),
      namespace: truncateBytes(namespace, 63),
      name: truncateBytes(name, 253),
      source: timelineSources.indexOf(source),
      restored: restored ? 1 : 0,
      containers: Math.min(255, containers),
    } as unknown as Parameters<TableWriter<TimelineFields>['put']>[1];
    const existing = this.#rows.get(uid);
    this.#finished.delete(uid);
    if (existing !== undefined) return this.#table.put(existing, values);
    if (this.#table.used >= this.#table.capacity && !this.#dropOldest()) return;
    this.#rows.set(uid, this.#table.insert(values));
  }

  /** A finished pod makes room. False: all recorded pods still run or terminate; the new one is not recorded. */
  #dropOldest(): boolean {
    const [oldest] = this.#finished;
    const row = oldest === undefined ? undefined : this.#rows.get(oldest);
    if (oldest === undefined || row === undefined) return false;
    this.#finished.delete(oldest);
    this.#rows.delete(oldest);
    this.#table.free(row);
    return true;
  }

  #change(
    uid: PodUID,
    phase: Phase,
    container: string | undefined,
    change: (span: Span | undefined, record: { readonly merged: boolean; readonly isSettled: boolean }) => Span | undefined,
  ): void {
    const row = this.#rows.get(uid);
    if (row === undefined || (container === undefined) !== isPodPhase(phase)) return;
    this.#contain(uid, () => {
      const containerRow = container === undefined ? undefined : this.#containerRow(row, container);
      const originMs = this.#table.peek(row, 'seenAtMs');
      const key = spanKey(phase, containerRow);
      const before = peekSpan(this.#table, row, key, originMs);
      const isSettled = container === undefined && before !== undefined && this.#isSettled(row, originMs);
      const after = change(before, { merged: containerRow === sharedRow, isSettled });
      if (after === undefined || after === before) return;
      this.#table.update(row, spanUpdate(key, toCells(after, originMs)) as never);
      if (after.outcome === 'open' && after.count !== before?.count) this.onBegin(uid, phase, after);
    });
  }

  /** The start is over for a while, and the termination has not begun. */
  #isSettled(row: number, originMs: number): boolean {
    const running = peekSpan(this.#table, row, 'Running', originMs);
    if (this.#table.peek(row, 'Termination.count') > 0) return false;
    if (!running) return this.#table.peek(row, 'restored') === 1;
    return running.outcome !== 'open' && this.#options.clock.monotonic() - running.startMs - running.durationMs > settleMs;
  }

  /** Returns the container's row: its own, or the last one, which later containers share. */
  #containerRow(row: number, container: string): ContainerRow {
    const name = shortenName(container, maxTexts.containerName);
    const found = containerRows.find((index) => {
      const taken = this.#table.peek(row, `name${index}`);
      return taken === '' || taken === name;
    });
    const index = found ?? sharedRow;
    if (this.#table.peek(row, `name${index}`) !== name) this.#table.update(row, { [`name${index}`]: name } as never);
    return index;
  }

  #openContainer(uid: PodUID, phase: Phase): string | undefined {
    return this.get(uid)?.spans.find((span) => span.phase === phase && span.outcome === 'open')?.container;
  }

  #span(uid: PodUID, phase: Phase, container: string | undefined): Span | undefined {
    const row = this.#rows.get(uid);
    if (row === undefined || (container === undefined) !== isPodPhase(phase)) return undefined;
    const containerRow = container === undefined ? undefined : this.#containerRow(row, container);
    return peekSpan(this.#table, row, spanKey(phase, containerRow), this.#table.peek(row, 'seenAtMs'));
  }

  #setOnce(uid: PodUID, field: 'deletionWantedAtMs' | 'objectGoneAtMs' | 'finishedAtMs'): void {
    const row = this.#rows.get(uid);
    if (row === undefined || this.#table.peek(row, field) !== 0) return;
    this.#table.update(row, { [field]: this.#options.clock.monotonic() } as never);
  }

  #update(uid: PodUID, values: Parameters<TableWriter<TimelineFields>['update']>[1]): void {
    const row = this.#rows.get(uid);
    if (row !== undefined) this.#contain(uid, () => this.#table.update(row, values));
  }

  #contain(uid: PodUID, work: () => void): void {
    contain({ handler: 'pod timelines', logger: this.#options.logger, fields: { podUID: uid } }, work);
  }
}

const podPhaseSet: ReadonlySet<string> = new Set(podPhases);

function isPodPhase(phase: Phase): phase is PodPhase {
  return podPhaseSet.has(phase);
}

function phaseBit(phase: Phase): number {
  return 1 << [...podPhases, ...containerPhases].indexOf(phase as never);
}
