/**
 * Records a Warning event when a phase exceeds its budget (budgets.ts): at most one event per pod and phase. One timer waits for the earliest deadline
 * of all pods; a phase that ends in time costs one comparison.
 */
import { contain } from '../../shared/faults/contain.ts';
import type { ContainerPhase, TimelinePhase } from '../../shared/contracts/timeline.ts';
import type { PodUID } from '../../shared/kubernetes/ids.ts';
import type { Logger } from '../../shared/log/logger.ts';
import type { Clock } from '../../shared/time/clock.ts';
import type { EventSink } from '../events/index.ts';
import { WorkQueue } from '../../shared/concurrency/work-queue.ts';
import { budgetMs, nextDeadlineMs, slowMessage, slowSpans } from './budgets.ts';
import type { PodTimelines } from './pod-timelines.ts';

export const slowPhaseReason = 'PodPhaseSlow';

export interface SlowPhasesOptions {
  readonly timelines: PodTimelines;
  readonly events: EventSink;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class SlowPhases {
  readonly #options: SlowPhasesOptions;
  readonly #queue: WorkQueue;
  /** When the queue checks each pod next; monotonic. */
  readonly #dueMs = new Map<PodUID, number>();

  readonly #stopListening: () => void;

  constructor(options: SlowPhasesOptions) {
    this.#options = options;
    const { timelines, clock, logger } = options;
    this.#queue = new WorkQueue({
      clock,
      onDue: () => {
        for (const uid of this.#queue.takeDue())
          contain({ handler: 'slow phases', logger, fields: { podUID: uid } }, () => this.#check(uid));
      },
    });
    this.#stopListening = timelines.onBegin((uid, phase, { startMs }) => this.#onBegin(uid, phase, startMs));
  }

  close(): void {
    this.#stopListening();
    this.#queue.close();
  }

  #onBegin(uid: PodUID, phase: TimelinePhase | ContainerPhase, startMs: number): void {
    const { timelines } = this.#options;
    const graceSeconds = phase === 'Termination' ? (timelines.get(uid)?.graceSeconds ?? 0) : 0;
    const deadlineMs = startMs + budgetMs(phase, graceSeconds);
    if (deadlineMs < Infinity && !timelines.isReported(uid, phase)) this.#checkAt(uid, deadlineMs);
  }

  #checkAt(uid: PodUID, deadlineMs: number): void {
    if ((this.#dueMs.get(uid) ?? Infinity) <= deadlineMs) return;
    this.#dueMs.set(uid, deadlineMs);
    this.#queue.enqueue(uid, deadlineMs - this.#options.clock.monotonic());
  }

  #check(uid: PodUID): void {
    this.#dueMs.delete(uid);
    const { timelines, events, clock, logger } = this.#options;
    const timeline = timelines.get(uid);
    if (!timeline) return;
    const nowMs = clock.monotonic();
    for (const span of slowSpans(timeline, nowMs)) {
      if (timelines.isReported(uid, span.phase)) continue;
      timelines.markReported(uid, span.phase);
      const message = slowMessage(span, timeline, nowMs);
      logger.warn({ pod: `${timeline.namespace}/${timeline.name}`, podUID: uid, phase: span.phase, container: span.container }, message);
      // Not podReference: the pod's object may be gone.
      const { namespace, name } = timeline;
      events.record({ object: { kind: 'Pod', apiVersion: 'v1', namespace, name, uid }, type: 'Warning', reason: slowPhaseReason, message });
    }
    const nextMs = nextDeadlineMs(timeline, ({ phase }) => timelines.isReported(uid, phase));
    if (nextMs < Infinity) this.#checkAt(uid, nextMs);
  }
}
