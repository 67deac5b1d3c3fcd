/** One phase of a timeline: its newest attempt. Pure. */
import { waitKinds, type WaitKind } from '../contracts/timeline.ts';

export interface TimelineSpan {
  /** When the attempt began, in monotonic ms. */
  readonly startMs: number;
  /** 0 while the span is open. */
  readonly durationMs: number;
  /** When the next step follows even if an open span does not end, in ms after its start. Infinity: unknown. */
  readonly dueAfterMs: number;
  /** The sum of the ended waits. */
  readonly waitedMs: number;
  /** When the wait in progress began. Null: the span does not wait. */
  readonly waitingSinceMs: number | null;
  readonly wait: WaitKind;
  readonly outcome: 'open' | 'ok' | 'failed';
  /** How many parts are open: more than one only where containers are merged. */
  readonly open: number;
  /** How often the phase began; at most `maxCount`. */
  readonly count: number;
}

export const maxCount = 255;
/** Durations in the table have 32 bits. The largest number is `noDue`. */
const maxMs = 2 ** 32 - 2;
/** A merged span that begins again within this time continues, because the containers of a pod start one after the other. */
const mergeWindowMs = 60_000;

export interface SpanBegin {
  readonly atMs: number;
  readonly dueMs?: number;
  readonly wait?: WaitKind;
}

/** @param merged the span is shared by several containers */
export function beginSpan(previous: TimelineSpan | undefined, { atMs, dueMs, wait }: SpanBegin, merged = false): TimelineSpan {
  const continues = merged && previous && (previous.open > 0 || atMs - previous.startMs - previous.durationMs < mergeWindowMs);
  const startMs = continues ? previous.startMs : atMs;
  return {
    startMs,
    durationMs: 0,
    dueAfterMs: dueMs === undefined ? Infinity : Math.max(0, dueMs - startMs),
    waitedMs: continues ? previous.waitedMs : 0,
    waitingSinceMs: wait ? atMs : null,
    wait: wait ?? (continues ? previous.wait : 'Nothing'),
    outcome: 'open',
    open: continues ? Math.min(maxCount, previous.open + 1) : 1,
    count: Math.min(maxCount, (previous?.count ?? 0) + 1),
  };
}

/** Begins a wait of an open span. */
export function beginWait(span: TimelineSpan, wait: WaitKind, atMs: number): TimelineSpan {
  return span.outcome === 'open' ? { ...span, wait, waitingSinceMs: span.waitingSinceMs ?? atMs } : span;
}

export function endWait(span: TimelineSpan, atMs: number): TimelineSpan {
  if (span.waitingSinceMs === null) return span;
  return { ...span, waitedMs: span.waitedMs + Math.max(0, atMs - span.waitingSinceMs), waitingSinceMs: null };
}

/** A span that is not open does not change: its end was reported twice, or its beginning is lost. */
export function endSpan(span: TimelineSpan, { atMs, failed }: { readonly atMs: number; readonly failed: boolean }): TimelineSpan {
  if (span.outcome !== 'open') return span;
  const open = Math.max(0, span.open - 1);
  if (open > 0) return { ...span, open };
  return {
    ...endWait(span, atMs),
    open,
    durationMs: Math.max(0, atMs - span.startMs),
    dueAfterMs: Infinity,
    outcome: failed ? 'failed' : 'ok',
  };
}

/** The columns of a span in the table: 16 bytes. Times are in ms. */
export interface SpanCells {
  /** The span's start in ms since the pod was first seen: the lower 32 of 40 bits. */
  readonly start: number;
  /** The upper 8 bits of the start: all 40 are 34 years. */
  readonly startHigh: number;
  /** `durationMs` of an ended span, `dueAfterMs` of an open one. */
  readonly duration: number;
  /**
   * The sum of all waits. While the span waits, the sum still grows: instead, the time from the span's start to the start of a single wait that would be as long as
   * all waits together.
   */
  readonly waited: number;
  readonly open: number;
  readonly count: number;
  /** Bits 0 and 1: outcome; 2 to 6: what the span waits or waited for; 7: whether it waits now. */
  readonly detail: number;
}

const outcomes = ['open', 'ok', 'failed'] as const;
/** Stands for a `dueAfterMs` of Infinity. */
const noDue = 2 ** 32 - 1;

export function toCells(span: TimelineSpan, originMs: number): SpanCells {
  const start = Math.min(2 ** 40 - 1, Math.max(0, Math.round(span.startMs - originMs)));
  const isWaiting = span.waitingSinceMs !== null;
  const waited = isWaiting ? span.waitingSinceMs - span.startMs - span.waitedMs : span.waitedMs;
  const bounded = (ms: number) => Math.min(maxMs, Math.max(0, Math.round(ms)));
  return {
    start: start % 2 ** 32,
    startHigh: Math.floor(start / 2 ** 32),
    duration: span.outcome !== 'open' ? bounded(span.durationMs) : span.dueAfterMs === Infinity ? noDue : bounded(span.dueAfterMs),
    waited: bounded(waited),
    open: span.open,
    count: span.count,
    detail: outcomes.indexOf(span.outcome) + (waitKinds.indexOf(span.wait) << 2) + (isWaiting ? 128 : 0),
  };
}

/** Undefined for a phase that never began. */
export function fromCells(cells: SpanCells, originMs: number): TimelineSpan | undefined {
  if (cells.count === 0) return undefined;
  const startMs = originMs + cells.startHigh * 2 ** 32 + cells.start;
  const outcome = outcomes[cells.detail & 3] ?? 'failed';
  const isOpen = outcome === 'open';
  const isWaiting = cells.detail >= 128;
  return {
    startMs,
    durationMs: isOpen ? 0 : cells.duration,
    dueAfterMs: isOpen && cells.duration !== noDue ? cells.duration : Infinity,
    // A single wait replaces several of the same total length (SpanCells.waited).
    waitedMs: isWaiting ? 0 : cells.waited,
    waitingSinceMs: isWaiting ? startMs + cells.waited : null,
    wait: waitKinds[(cells.detail >> 2) & 31] ?? 'Nothing',
    outcome,
    open: cells.open,
    count: cells.count,
  };
}
