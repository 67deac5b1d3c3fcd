/**
 * The table of all pod timelines in shared memory (state/typed-table.ts): one row of at most 2 KB per pod, which never grows. Main writes it, the
 * server thread reads it without asking main. A phase has one span, of its newest attempt, with the number of attempts. The first six
 * containers have spans of their own; further ones share the last row.
 */
import { containerPhases, timelinePhases, type ContainerPhase, type TimelinePhase } from '../contracts/timeline.ts';
import { f64, boundedText, u32, u8, type Field } from '../state/table-layout.ts';
import { defineTable, type TableReader } from '../state/typed-table.ts';
import { fromCells, type TimelineSpan, type SpanCells } from './span.ts';

/** The rows of the containers. The last one is shared by all containers after the first six. */
export const containerRows = [0, 1, 2, 3, 4, 5, 6] as const;
export type ContainerRow = (typeof containerRows)[number];
export const sharedRow: ContainerRow = 6;
/** Longer texts are shortened (shorten.ts). */
export const maxTexts = { uid: 48, namespace: 63, name: 253, containerName: 24, problem: 192 };

export const timelineSources = ['api', 'file', 'http', 'runtime'] as const;
export type TimelineSource = (typeof timelineSources)[number];

/** Who reported `problem`. The next success of the same origin clears the problem. */
export const problemOrigins = ['none', 'task', 'api'] as const;
export type ProblemOrigin = (typeof problemOrigins)[number];

const headerFields = {
  /** Monotonic ms at which the kubelet first saw the pod: the origin of all spans. */
  seenAtMs: f64,
  /** Wall-clock ms at monotonic 0, computed when the pod was first seen. */
  epochMs: f64,
  /** These three: monotonic ms; 0: not yet. */
  deletionWantedAtMs: f64,
  finishedAtMs: f64,
  objectGoneAtMs: f64,
  uid: boundedText(maxTexts.uid),
  namespace: boundedText(maxTexts.namespace),
  name: boundedText(maxTexts.name),
  problem: boundedText(maxTexts.problem),
  /** One bit for each phase, set when an event was recorded for it: timelinePhases, then containerPhases. */
  reported: u32,
  graceSeconds: u32,
  source: u8,
  restored: u8,
  refused: u8,
  /** The number of containers in the pod's spec, init containers included; at most 255. */
  containers: u8,
  /** An index into `problemOrigins`. */
  problemOrigin: u8,
};

const spanFields = { start: u32, duration: u32, waited: u32, startHigh: u8, open: u8, count: u8, detail: u8 } satisfies Record<
  keyof SpanCells,
  Field<number>
>;
const cellNames = Object.keys(spanFields) as (keyof SpanCells)[];

/** The prefix of a span's columns. */
type SpanKey = TimelinePhase | `${ContainerRow}.${ContainerPhase}`;
const spanKeys: readonly SpanKey[] = [
  ...timelinePhases,
  ...containerRows.flatMap((row) => containerPhases.map((phase) => `${row}.${phase}` as const)),
];

const containerNameFields = Object.fromEntries(containerRows.map((row) => [`name${row}`, boundedText(maxTexts.containerName)])) as Record<
  `name${ContainerRow}`,
  Field<string>
>;

/** What the newest pull of each container's image brought, in KiB; 0: the image was present. The shared row has the sum. */
const imageFields = Object.fromEntries(containerRows.map((row) => [`imageKiB${row}`, u32])) as Record<
  `imageKiB${ContainerRow}`,
  Field<number>
>;

const spanColumns = Object.fromEntries(spanKeys.flatMap((key) => cellNames.map((cell) => [`${key}.${cell}`, spanFields[cell]]))) as Record<
  `${SpanKey}.${keyof SpanCells}`,
  Field<number>
>;

const fields = { ...headerFields, ...spanColumns, ...imageFields, ...containerNameFields };
export const timelineTable = defineTable('pod-timelines', fields);
export type TimelineFields = typeof fields;

/** Rows for the pods of a full node, and 256 more for pods that terminate or have finished. */
export function timelineCapacity(maxPods: number): number {
  return maxPods + 256;
}

export function spanKey(phase: TimelinePhase | ContainerPhase, containerRow: ContainerRow | undefined): SpanKey {
  return containerRow === undefined ? (phase as TimelinePhase) : `${containerRow}.${phase as ContainerPhase}`;
}

/** The columns of one span, for an update of the row. */
export function spanUpdate(key: SpanKey, cells: SpanCells): Record<string, number> {
  return Object.fromEntries(cellNames.map((cell) => [`${key}.${cell}`, cells[cell]]));
}

/** Reads one span without the version check: for main, or inside `consistently`. */
export function peekSpan(table: TableReader<TimelineFields>, row: number, key: SpanKey, originMs: number): TimelineSpan | undefined {
  if (table.peek(row, `${key}.count`) === 0) return undefined;
  const cell = (name: keyof SpanCells) => table.peek(row, `${key}.${name}`);
  return fromCells(
    {
      start: cell('start'),
      startHigh: cell('startHigh'),
      duration: cell('duration'),
      waited: cell('waited'),
      open: cell('open'),
      count: cell('count'),
      detail: cell('detail'),
    },
    originMs,
  );
}
