/**
 * Receives the reports of main's parts about phases of pods, and writes them into the records (timeline-records.ts). Every method is cheap, never
 * throws, and ignores pods without a record.
 */
import { Listeners } from '../../shared/concurrency/listeners.ts';
import type { EnsureImageRequest, EnsureImageResult, PullWait } from '../../shared/contracts/images.ts';
import type { RuntimePodStatus } from '../../shared/contracts/runtime-status.ts';
import { containerPhases, timelinePhases, type PhaseReport, type WaitKind } from '../../shared/contracts/timeline.ts';
import type { Pod } from '../../shared/kubernetes/api.ts';
import { configSourceAnnotation } from '../../shared/kubernetes/annotations.ts';
import { podUID, type PodUID } from '../../shared/kubernetes/ids.ts';
import { isTerminalPhase } from '../../shared/kubernetes/pod-phase.ts';
import type { Clock } from '../../shared/time/clock.ts';
import type { PodTimeline } from '../../shared/timeline/pod-timeline.ts';
import { truncateBytes } from '../../shared/timeline/shorten.ts';
import { beginSpan, beginWait, endSpan, endWait, type TimelineSpan, type SpanBegin } from '../../shared/timeline/span.ts';
import { maxTexts, problemOrigins, timelineSources, type ProblemOrigin } from '../../shared/timeline/timeline-table.ts';
import { isDeleted } from '../../shared/kubernetes/is-deleted.ts';
import { isTimelinePhase, TimelineRecords, type Phase, type TimelineRecordsOptions } from './timeline-records.ts';

export interface PhaseOptions extends Partial<SpanBegin> {
  readonly container?: string;
}

/** The phases that tasks of the sync pool report. A phase that a task leaves open, as a lost task does, ends with the task. */
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
/** Phases that go on after the pod has finished on the node. */
const apiPhases: ReadonlySet<Phase> = new Set<Phase>(['StatusWrite', 'APIDelete']);
/** Phases that repeat while a pod runs. The record keeps those of the start. */
const repeatedPhases: ReadonlySet<Phase> = new Set<Phase>(['Queue', 'Sync', 'Volumes', 'StatusWrite']);
/** A phase that begins this long after all containers have started no longer belongs to the pod's start. */
const settleMs = 10_000;

export class PodTimelines {
  readonly #records: TimelineRecords;
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #listeners = new Listeners<[uid: PodUID, phase: Phase, span: TimelineSpan]>();

  constructor(options: TimelineRecordsOptions) {
    this.#records = new TimelineRecords(options);
    this.#clock = options.clock;
  }

  /** The table, for the server thread. */
  get buffer(): SharedArrayBuffer {
    return this.#records.buffer;
  }

  get(uid: PodUID): PodTimeline | undefined {
    return this.#records.get(uid);
  }

  /**
   * A source has the pod, maybe for the first time. `isRunning`: its containers run already. A pod in a terminal phase gets no record unless it is deleted: its
   * objects may stay for long, and be thousands.
   */
  see(pod: Pod, isRunning: boolean): void {
    const uid = podUID(pod);
    if (isTerminalPhase(pod.status?.phase) && !isRunning && !isDeleted(pod) && !this.#records.has(uid)) return;
    const isGone = this.#records.number(uid, 'objectGoneAtMs') !== 0;
    if (!this.#records.has(uid) || (isGone && this.#records.isFinished(uid))) this.#add(pod, isRunning);
    else if (isGone) this.#records.update(uid, { objectGoneAtMs: 0 });
    if (isDeleted(pod)) this.#setOnce(uid, 'deletionWantedAtMs');
  }

  /** Only the runtime knows the pod. */
  seeInRuntime({ podUID: uid, namespace, name }: Pick<RuntimePodStatus, 'podUID' | 'namespace' | 'name'>): void {
    if (!this.#records.has(uid)) this.#records.add(uid, { namespace, name, source: 'runtime', restored: true, containers: 0 });
  }

  /** No source has the pod any more. */
  objectGone(uid: PodUID): void {
    this.#setOnce(uid, 'deletionWantedAtMs');
    this.#setOnce(uid, 'objectGoneAtMs');
  }

  /** Calls the listener when a span begins. Returns a function that removes it. */
  onBegin(listener: (uid: PodUID, phase: Phase, span: TimelineSpan) => void): () => void {
    return this.#listeners.add(listener);
  }

  begin(uid: PodUID, phase: Phase, { container, ...begin }: PhaseOptions = {}): void {
    const isSettled = repeatedPhases.has(phase) && this.#isSettled(uid);
    const span = this.#records.change(uid, phase, container, (before, { merged }) =>
      isSettled && before ? before : beginSpan(before, { ...begin, atMs: begin.atMs ?? this.#clock.monotonic() }, merged),
    );
    if (span) this.#listeners.notify(uid, phase, span);
  }

  /** Does nothing while the phase is open: a repeated report does not restart it. */
  beginUnlessOpen(uid: PodUID, phase: Phase, options: PhaseOptions = {}): void {
    if (!this.isOpen(uid, phase, options.container)) this.begin(uid, phase, options);
  }

  end(uid: PodUID, phase: Phase, options: { readonly container?: string; readonly atMs?: number; readonly failed?: boolean } = {}): void {
    const { container, atMs = this.#clock.monotonic(), failed = false } = options;
    this.#records.change(uid, phase, container, (span) => span && endSpan(span, { atMs, failed }));
  }

  isOpen(uid: PodUID, phase: Phase, container?: string): boolean {
    return this.#records.span(uid, phase, container)?.outcome === 'open';
  }

  /** The open phase waits. Call the result when the wait is over. A phase of containers is that of the first container in which it is open. */
  wait(uid: PodUID, phase: Phase, wait: WaitKind): () => void {
    const container = isTimelinePhase(phase) ? undefined : this.#firstContainerInPhase(uid, phase);
    if (!isTimelinePhase(phase) && container === undefined) return () => {};
    this.#records.change(uid, phase, container, (span) => span && beginWait(span, wait, this.#clock.monotonic()));
    return () => void this.#records.change(uid, phase, container, (span) => span && endWait(span, this.#clock.monotonic()));
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
  async measureImage<T extends { readonly outcome: EnsureImageResult['outcome']; readonly pulledBytes?: number }>(
    { podUID: uid, containerName: container }: Pick<EnsureImageRequest, 'podUID' | 'containerName'>,
    ensure: () => Promise<T>,
  ): Promise<T> {
    this.begin(uid, 'Image', { container });
    let failed = true;
    try {
      const result = await ensure();
      failed = result.outcome === 'failed';
      this.#records.setImageBytes(uid, container, result.pulledBytes ?? 0);
      return result;
    } finally {
      this.end(uid, 'Image', { container, failed });
    }
  }

  /** The pull of a container's image waits, or begins. */
  pullWait({ podUID: uid, containerName: container, wait, atMs }: PullWait): void {
    this.report(
      uid,
      wait === null ? { edge: 'proceed', phase: 'Image', container, atMs } : { edge: 'wait', phase: 'Image', container, wait, atMs },
    );
  }

  /** The open phase is tried again at `dueMs`; monotonic. */
  retryAt(uid: PodUID, phase: Phase, dueMs: number): void {
    this.#records.change(uid, phase, undefined, (span) => span && { ...span, dueAfterMs: Math.max(0, dueMs - span.startMs) });
  }

  /** A task's report. */
  report(uid: PodUID, report: PhaseReport): void {
    const { edge, phase, container, atMs } = report;
    switch (edge) {
      case 'begin':
        return this.begin(uid, phase, report);
      case 'wait':
        return void this.#records.change(uid, phase, container, (span) => span && beginWait(span, report.wait, atMs));
      case 'proceed':
        return void this.#records.change(uid, phase, container, (span) => span && endWait(span, atMs));
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
      if (outcome === 'open' && taskPhases.has(phase))
        this.end(uid, phase, { failed: true, ...(container !== undefined && { container }) });
    }
  }

  setProblem(uid: PodUID, origin: Exclude<ProblemOrigin, 'none'>, text: string): void {
    this.#records.update(uid, { problem: truncateBytes(text, maxTexts.problem), problemOrigin: problemOrigins.indexOf(origin) });
  }

  clearProblem(uid: PodUID, origin: Exclude<ProblemOrigin, 'none'>): void {
    const isSame = this.#records.number(uid, 'problemOrigin') === problemOrigins.indexOf(origin);
    if (isSame) this.#records.update(uid, { problem: '', problemOrigin: 0 });
  }

  /** The pod is not admitted. */
  rejected(uid: PodUID, { reason, message }: { readonly reason: string; readonly message: string }): void {
    for (const phase of ['Admission', 'Running', 'Ready'] as const) this.end(uid, phase, { failed: true });
    this.#records.update(uid, { refused: 1 });
    this.#records.setFinished(uid);
    this.setProblem(uid, 'task', `${reason}: ${message}`);
  }

  /** The pod terminates; call this again when its grace period shrinks. Null: an unknown grace period. */
  terminating(uid: PodUID, graceSeconds: number | null): void {
    const seconds = Math.min(2 ** 32 - 1, Math.max(0, graceSeconds ?? 0));
    const dueMs = this.#clock.monotonic() + seconds * 1000;
    this.#records.update(uid, { graceSeconds: seconds });
    if (this.isOpen(uid, 'Termination')) return this.#shrink(uid, dueMs);
    for (const phase of ['Running', 'Ready', 'Resize'] as const) this.end(uid, phase, { failed: true });
    // A retry of a sync is not part of the termination.
    this.end(uid, 'Retry');
    this.begin(uid, 'Termination', { dueMs });
  }

  /** Nothing of the pod is left on the node but its folder. */
  finished(uid: PodUID): void {
    for (const { phase, container, outcome } of this.get(uid)?.spans ?? []) {
      if (outcome === 'open' && !apiPhases.has(phase)) this.end(uid, phase, container === undefined ? {} : { container });
    }
    this.#setOnce(uid, 'finishedAtMs');
    this.clearProblem(uid, 'task');
    this.#records.setFinished(uid);
  }

  /** Whether an event was recorded for the phase. */
  isReported(uid: PodUID, phase: Phase): boolean {
    return (this.#records.number(uid, 'reported') & phaseBits[phase]) !== 0;
  }

  markReported(uid: PodUID, phase: Phase): void {
    this.#records.update(uid, { reported: (this.#records.number(uid, 'reported') | phaseBits[phase]) >>> 0 });
  }

  #add(pod: Pod, isRunning: boolean): void {
    const uid = podUID(pod);
    const { namespace, name, annotations } = pod.metadata;
    const source = timelineSources.find((one) => one === annotations?.[configSourceAnnotation]) ?? 'api';
    const { containers, initContainers = [] } = pod.spec;
    const restored = isRunning || pod.status?.startTime !== undefined;
    this.#records.add(uid, { namespace, name, source, restored, containers: containers.length + initContainers.length });
    if (!restored) for (const phase of ['Running', 'Ready'] as const) this.begin(uid, phase);
  }

  /** The start is over for a while, and the termination has not begun. */
  #isSettled(uid: PodUID): boolean {
    if (this.#records.span(uid, 'Termination')) return false;
    const running = this.#records.span(uid, 'Running');
    if (!running) return this.#records.number(uid, 'restored') === 1;
    return running.outcome !== 'open' && this.#clock.monotonic() - running.startMs - running.durationMs > settleMs;
  }

  /** The grace period of the open steps ends sooner. */
  #shrink(uid: PodUID, dueMs: number): void {
    for (const { phase, container, startMs, dueAfterMs } of this.get(uid)?.spans ?? []) {
      const isShorter = dueAfterMs < Infinity && startMs + dueAfterMs > dueMs;
      if (isShorter && (phase === 'PreStop' || phase === 'Stop' || phase === 'Termination'))
        this.#records.change(uid, phase, container, (span) => span && { ...span, dueAfterMs: Math.max(0, dueMs - span.startMs) });
    }
  }

  #firstContainerInPhase(uid: PodUID, phase: Phase): string | undefined {
    return this.get(uid)?.spans.find((span) => span.phase === phase && span.outcome === 'open')?.container;
  }

  #setOnce(uid: PodUID, field: 'deletionWantedAtMs' | 'objectGoneAtMs' | 'finishedAtMs'): void {
    if (this.#records.number(uid, field) === 0) this.#records.update(uid, { [field]: this.#clock.monotonic() });
  }
}

/** The bit of each phase in the field `reported` of a record. */
const phaseBits = Object.fromEntries([...timelinePhases, ...containerPhases].map((phase, index) => [phase, 1 << index])) as Record<
  Phase,
  number
>;
