/** The JSON of one timeline, and of the list of the slowest pods (contracts/timeline.ts). Pure. */
import type { PhaseJson, TimelineJson, TimelineSummaryJson } from '../contracts/timeline.ts';
import { computeLedger } from './ledger.ts';
import type { PhaseSpan, PodTimeline } from './pod-timeline.ts';

export function timelineJson(timeline: PodTimeline, nowMs: number): TimelineJson {
  const { uid, namespace, name, source, state, seenAtMs, epochMs, restored, mergedContainers, problem, spans } = timeline;
  const terminationMs = phaseDurationMs(spans, 'Termination', nowMs);
  return {
    namespace,
    name,
    uid,
    source,
    state,
    seenAt: new Date(epochMs + seenAtMs).toISOString(),
    restored,
    // A duration, unlike the `startMs` of a phase.
    startMs: startDurationMs(timeline, nowMs),
    ...(terminationMs !== undefined && { terminationMs }),
    phases: spans.map((span) => phaseJson(span, seenAtMs, nowMs)),
    mergedContainers,
    ...(problem !== '' && { problem }),
    ledger: computeLedger(timeline, nowMs),
  };
}

export function summaryJson(timeline: PodTimeline, nowMs: number): TimelineSummaryJson {
  const { namespace, name, uid, state, spans, finishedAtMs } = timeline;
  const latest = currentPhase(spans, finishedAtMs !== null);
  return {
    namespace,
    name,
    uid,
    state,
    slowestMs: Math.max(startDurationMs(timeline, nowMs), phaseDurationMs(spans, 'Termination', nowMs) ?? 0),
    phase: latest === undefined ? '' : latest.container === undefined ? latest.phase : `${latest.phase} (${latest.container})`,
  };
}

/** These phases span several steps of a pod: an open one does not show the step. */
const wholePodPhases: ReadonlySet<string> = new Set(['Running', 'Ready', 'Sync', 'Termination', 'StatusWrite']);

/** Returns the open phase that began last. Without an open phase, or for a finished pod: the phase that ended last. */
function currentPhase(spans: readonly PhaseSpan[], isFinished: boolean): PhaseSpan | undefined {
  const steps = spans.filter(({ phase }) => !wholePodPhases.has(phase));
  const open = isFinished ? [] : steps.filter(({ outcome }) => outcome === 'open');
  if (open.length > 0) return open.reduce((a, b) => (b.startMs > a.startMs ? b : a));
  return steps.reduce<PhaseSpan | undefined>(
    (a, b) => (a === undefined || b.startMs + b.durationMs >= a.startMs + a.durationMs ? b : a),
    undefined,
  );
}

/** Returns the time from first sight until the pod was ready, or until now. 0 for a restored pod, whose start this kubelet has not seen. */
function startDurationMs({ spans, restored }: PodTimeline, nowMs: number): number {
  if (restored) return 0;
  const durationMs = (phase: PhaseSpan['phase']) => phaseDurationMs(spans, phase, nowMs);
  return durationMs('Ready') ?? durationMs('Running') ?? durationMs('Admission') ?? 0;
}

function phaseDurationMs(spans: readonly PhaseSpan[], phase: PhaseSpan['phase'], nowMs: number): number | undefined {
  const span = spans.find((candidate) => candidate.phase === phase);
  return span && spanDurationMs(span, nowMs);
}

/** Until now for an open span. */
function spanDurationMs({ outcome, startMs, durationMs }: PhaseSpan, nowMs: number): number {
  return Math.round(outcome === 'open' ? Math.max(0, nowMs - startMs) : durationMs);
}

function phaseJson(span: PhaseSpan, seenAtMs: number, nowMs: number): PhaseJson {
  const { phase, container, startMs, outcome, count, wait, waitedMs, waitingSinceMs, imageKiB } = span;
  const waitMs = waitingSinceMs === null ? waitedMs : Math.max(0, nowMs - waitingSinceMs);
  return {
    phase,
    ...(container !== undefined && { container }),
    // Relative to `seenAt` of the timeline.
    startMs: Math.round(startMs - seenAtMs),
    durationMs: spanDurationMs(span, nowMs),
    outcome,
    count,
    ...(imageKiB !== undefined && { imageBytes: imageKiB * 1024 }),
    ...(wait !== 'Nothing' && { wait: { for: wait, durationMs: Math.round(waitMs), open: waitingSinceMs !== null } }),
  };
}
