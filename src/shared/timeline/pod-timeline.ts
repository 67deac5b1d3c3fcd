/** Decodes the timeline of one pod from its row of the table (timeline-table.ts). */
import { containerPhases, timelinePhases, type ContainerPhase, type TimelinePhase, type TimelineState } from '../contracts/timeline.ts';
import type { TableReader } from '../state/typed-table.ts';
import type { TimelineSpan } from './span.ts';
import {
  containerRows,
  peekSpan,
  sharedRow,
  spanKey,
  timelineSources,
  type ContainerRow,
  type TimelineFields,
  type TimelineSource,
} from './timeline-table.ts';

export interface PhaseSpan extends TimelineSpan {
  readonly phase: TimelinePhase | ContainerPhase;
  /** Undefined for a phase of the pod. */
  readonly container?: string;
  /** The size of the image that the phase Image pulled. */
  readonly imageKiB?: number;
}

/** Times are monotonic ms, except `epochMs`. Null: not yet. */
export interface PodTimeline {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly source: TimelineSource;
  readonly state: TimelineState;
  readonly seenAtMs: number;
  /** Wall-clock ms at monotonic 0. */
  readonly epochMs: number;
  /** The pod ran already when this kubelet started. */
  readonly restored: boolean;
  readonly deletionWantedAtMs: number | null;
  readonly finishedAtMs: number | null;
  /** When the source no longer had the pod. */
  readonly objectGoneAtMs: number | null;
  readonly graceSeconds: number;
  /** The number of containers that share the last container row. */
  readonly mergedContainers: number;
  /** The last failure. Empty: none. */
  readonly problem: string;
  /** In the order of timelinePhases, then container by container. */
  readonly spans: readonly PhaseSpan[];
}

/** Undefined when the row is free. */
export function readTimeline(table: TableReader<TimelineFields>, row: number): PodTimeline | undefined {
  return table.consistently(row, () => (table.inUse(row) ? peekTimeline(table, row) : undefined));
}

/** Without the version check: for main, or inside `consistently`. */
export function peekTimeline(table: TableReader<TimelineFields>, row: number): PodTimeline {
  const seenAtMs = table.peek(row, 'seenAtMs');
  const spans: PhaseSpan[] = [];
  const add = (phase: TimelinePhase | ContainerPhase, container?: { readonly row: ContainerRow; readonly name: string }) => {
    const span = peekSpan(table, row, spanKey(phase, container?.row), seenAtMs);
    if (!span) return;
    const imageKiB = phase === 'Image' && container ? table.peek(row, `imageKiB${container.row}`) : 0;
    spans.push({ ...span, phase, ...(container && { container: container.name }), ...(imageKiB > 0 && { imageKiB }) });
  };
  for (const phase of timelinePhases) add(phase);
  for (const containerRow of containerRows) {
    const name = table.peek(row, `name${containerRow}`);
    if (name !== '') for (const phase of containerPhases) add(phase, { row: containerRow, name });
  }
  const finishedAtMs = table.peek(row, 'finishedAtMs') || null;
  return {
    uid: table.peek(row, 'uid'),
    namespace: table.peek(row, 'namespace'),
    name: table.peek(row, 'name'),
    source: timelineSources[table.peek(row, 'source')] ?? 'runtime',
    state: stateOf(spans, { isFinished: finishedAtMs !== null, isRefused: table.peek(row, 'refused') === 1 }),
    seenAtMs,
    epochMs: table.peek(row, 'epochMs'),
    restored: table.peek(row, 'restored') === 1,
    deletionWantedAtMs: table.peek(row, 'deletionWantedAtMs') || null,
    finishedAtMs,
    objectGoneAtMs: table.peek(row, 'objectGoneAtMs') || null,
    graceSeconds: table.peek(row, 'graceSeconds'),
    // `sharedRow` is also the number of containers with a row of their own.
    mergedContainers: table.peek(row, `name${sharedRow}`) === '' ? 0 : Math.max(1, table.peek(row, 'containers') - sharedRow),
    problem: table.peek(row, 'problem'),
    spans,
  };
}

function stateOf(
  spans: readonly PhaseSpan[],
  { isFinished, isRefused }: { readonly isFinished: boolean; readonly isRefused: boolean },
): TimelineState {
  if (isFinished) return 'Finished';
  if (spans.some(({ phase }) => phase === 'Termination')) return 'Terminating';
  if (isRefused) return 'Refused';
  // The phase Running is open until the pod runs. A restored pod has no such phase.
  const running = spans.find(({ phase }) => phase === 'Running');
  return running?.outcome === 'open' ? 'Starting' : 'Running';
}
