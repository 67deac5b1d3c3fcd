/**
 * Renders one pod's timeline: a chart with one bar per phase for its start, for what happened since, and for its termination; then what it still waits
 * for. Pure. In a bar `-` is a wait, `#` the rest; `>` at its end says that the phase is still open, `x` that it failed.
 */
import type { PhaseJson, TimelineJson } from '../../../shared/contracts/timeline.ts';
import { formatMs } from '../../../shared/timeline/format-duration.ts';
import { printable } from '../printable.ts';

export function renderTimeline(timeline: TimelineJson, width: number): string {
  const { phases } = timeline;
  const termination = phases.find(({ phase }) => phase === 'Termination');
  const terminationMs = termination?.startMs ?? Infinity;
  const startEndMs = endOfStart(timeline, terminationMs);
  const within = (fromMs: number, toMs: number) => phases.filter(({ startMs }) => startMs >= fromMs && startMs < toMs);
  const sections = [
    ...section('Start', within(-Infinity, Math.min(startEndMs, terminationMs)), width),
    ...section('Since the start', within(startEndMs, terminationMs), width),
    ...section('Termination', within(Math.max(0, terminationMs), Infinity), width),
  ];
  return `${[...header(timeline), ...sections, ...footer(timeline)].join('\n')}\n`;
}

/** Steps that begin later than this do not belong to the start. */
function endOfStart({ phases, restored }: TimelineJson, terminationMs: number): number {
  if (restored) return 0;
  const ready = phases.find(({ phase }) => phase === 'Ready') ?? phases.find(({ phase }) => phase === 'Running');
  if (!ready || ready.outcome !== 'ok') return terminationMs;
  return ready.startMs + ready.durationMs + 1;
}

function header({ namespace, name, uid, source, state, seenAt, restored, startMs, terminationMs, phases }: TimelineJson): string[] {
  const isReady = phases.some(({ phase, outcome }) => phase === 'Ready' && outcome === 'ok');
  const start = restored
    ? 'it ran before this kubelet started'
    : isReady
      ? `ready after ${formatMs(startMs)}`
      : `not ready after ${formatMs(startMs)}`;
  const end = terminationMs === undefined ? '' : `; termination ${state === 'Finished' ? 'took' : 'takes'} ${formatMs(terminationMs)}`;
  return [`${printable(`${namespace}/${name}`)}  ${state}`, `uid ${printable(uid)}, from ${source}, seen ${seenAt}`, `${start}${end}`];
}

function footer({ mergedContainers, problem, ledger, state }: TimelineJson): string[] {
  const lines: string[] = [];
  if (mergedContainers > 0) lines.push('', `The last container row stands for ${mergedContainers} containers.`);
  const isInLedger = problem !== undefined && ledger.some(({ waitsFor }) => waitsFor.includes(problem));
  if (problem !== undefined && !isInLedger) lines.push('', `Last problem: ${printable(problem)}`);
  if (ledger.length > 0) lines.push('', state === 'Finished' ? 'Its object still waits for:' : 'Waits for:');
  for (const { waitsFor, forMs, next } of ledger) {
    lines.push(`  ${printable(waitsFor)}, for ${formatMs(forMs)}`, `      next: ${printable(next)}`);
  }
  return lines;
}

/** The characters of a row between its columns: two spaces, ` |`, `| ` and two spaces. */
const separatorsWidth = 8;
/** The largest count of a record (shared/timeline/span.ts). It means as often or more. */
const maxCount = 255;

function section(title: string, phases: readonly PhaseJson[], width: number): string[] {
  if (phases.length === 0) return [];
  const fromMs = Math.min(...phases.map(({ startMs }) => startMs));
  const toMs = Math.max(...phases.map(({ startMs, durationMs }) => startMs + durationMs), fromMs + 1);
  const sorted = phases.toSorted((a, b) => a.startMs - b.startMs || b.durationMs - a.durationMs);
  const labels = sorted.map(({ phase, container }) => (container === undefined ? phase : `${phase} (${printable(container)})`));
  const labelWidth = Math.max(...labels.map(({ length }) => length));
  const durations = sorted.map(({ durationMs }) => formatMs(durationMs));
  const durationWidth = Math.max(...durations.map(({ length }) => length));
  const notes = sorted.map(noteOf);
  const noteWidth = Math.max(...notes.map(({ length }) => length));
  const barWidth = Math.max(10, width - labelWidth - durationWidth - noteWidth - separatorsWidth);
  const rows = sorted.map((phase, index) => {
    const bar = renderBar(phase, { fromMs, toMs, barWidth });
    return `  ${labels[index]!.padEnd(labelWidth)} |${bar}| ${durations[index]!.padStart(durationWidth)}  ${notes[index]!}`.trimEnd();
  });
  return ['', `${title} (${formatMs(toMs - fromMs)})`, ...rows];
}

function renderBar(
  { startMs, durationMs, outcome, wait }: PhaseJson,
  { fromMs, toMs, barWidth }: { readonly fromMs: number; readonly toMs: number; readonly barWidth: number },
): string {
  const column = (ms: number) => Math.round(((ms - fromMs) / (toMs - fromMs)) * barWidth);
  const start = Math.min(barWidth - 1, column(startMs));
  const end = Math.min(barWidth, Math.max(start + 1, column(startMs + durationMs)));
  const length = end - start;
  const waited = durationMs === 0 ? 0 : Math.min(length, Math.round(((wait?.durationMs ?? 0) / durationMs) * length));
  // The record has only the sum of the waits: they are drawn first.
  const body = `${'-'.repeat(waited)}${'#'.repeat(length - waited)}`;
  const marked = outcome === 'ok' ? body : `${body.slice(0, -1)}${outcome === 'open' ? '>' : 'x'}`;
  return `${' '.repeat(start)}${marked}`.padEnd(barWidth);
}

function noteOf({ wait, count, imageBytes }: PhaseJson): string {
  const notes: string[] = [];
  if (imageBytes !== undefined) notes.push(`pulled ${(imageBytes / 1e6).toFixed(1)} MB`);
  if (wait && (wait.open || wait.durationMs > 0))
    notes.push(`${wait.open ? 'waits' : 'waited'} ${formatMs(wait.durationMs)} for ${wait.for}`);
  if (count > 1) notes.push(`${count === maxCount ? `${maxCount}+` : count} times`);
  return notes.join(', ');
}
