/** The JSON of one timeline, and of the list of the slowest pods (contracts/timeline.ts). Pure. */
import type { PhaseJson, TimelineJson, TimelineSummaryJson } from '../contracts/timeline.ts';
import { computeLedger } from './ledger.ts';
import type { PhaseSpan, PodTimeline } from './pod-timeline.ts';

export function timelineJson(timeline: PodTimeline, nowMs: number): TimelineJson {
  const { uid, namespace, name, source, state, seenAtMs, epochMs, restored, mergedContainers, problem, spans } = timeline;
  const terminationMs = lengthOf(spans, 'Termination', nowMs);
  return {
    namespace,
    name,
    uid,
    source,
    state,
    seenAt: new Date(epochMs + seenAtMs).toISOString(),
    restored,
    startMs: startOf(timeline, nowMs),
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
    slowestMs: Math.max(startOf(timeline, nowMs), lengthOf(spans, 'Termination', nowMs) ?? 0),
    phase: latest === undefined ? '' : latest.container === undefined ? latest.phase : `${latest.phase} (${latest.container})`,
  };
}

/** Whole-pod spans say nothing about the step. */
const wholePod: ReadonlySet<string> = new Set(['Running', 'Ready', 'Sync', 'Termination', 'StatusWrite']);

/** The open phase that began last, or the one that ended last. */
function currentPhase(spans: readonly PhaseSpan[], isFinished: boolean): PhaseSpan | undefined {
  const steps = spans.filter(({ phase }) => !wholePod.has(phase));
  const open = isFinished ? [] : steps.filter(({ outcome }) => outcome === 'open');
  if (open.length > 0) return open.reduce((a, b) => (b.startMs > a.startMs ? b : a));
  return steps.reduce<PhaseSpan | undefined>(
    (a, b) => (a === undefined || b.startMs + b.durationMs >= a.startMs + a.durationMs ? b : a),
    undefined,
  );
}

/** A restored pod has no start in this record. */
function startOf({ spans, restored }: PodTimeline, nowMs: number): number {
  if (restored) return 0;
  return lengthOf(spans, 'Ready', nowMs) ?? lengthOf(spans, 'Running', nowMs) ?? lengthOf(spans, 'Admission', nowMs) ?? 0;
}

function lengthOf(spans: readonly PhaseSpan[], phase: PhaseSpan['phase'], nowMs: number): number | undefined {
  const span = spans.find((candidate) => candidate.phase === phase);
  return span && spanMs(span, nowMs);
}

function spanMs({ outcome, startMs, durationMs }: PhaseSpan, nowMs: number): number {
  return Math.round(outcome === 'open' ? Math.max(0, nowMs - startMs) : durationMs);
}

function phaseJson(span: PhaseSpan, seenAtMs: number, nowMs: number): PhaseJson {
  const { phase, container, startMs, outcome, count, wait, waitedMs, waitingSinceMs, imageKiB } = span;
  const waitMs = waitingSinceMs === null ? waitedMs : Math.max(0, nowMs - waitingSinceMs);
  return {
    phase,
    ...(container !== undefined && { container }),
    startMs: Math.round(startMs - seenAtMs),
    durationMs: spanMs(span, nowMs),
    outcome,
    count,
    ...(imageKiB !== undefined && { imageBytes: imageKiB * 1024 }),
    ...(wait !== 'Nothing' && { wait: { for: wait, durationMs: Math.round(waitMs), open: waitingSinceMs !== null } }),
  };
}
