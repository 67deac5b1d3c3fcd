/** Renders the list of the slowest pods. Pure. */
import type { TimelineListJson } from '../../../shared/contracts/timeline.ts';
import { formatMs } from '../../../shared/timeline/format-duration.ts';
import { printable } from './printable.ts';

export function renderList({ pods, total }: TimelineListJson): string {
  if (pods.length === 0) return 'No pods are recorded yet.\n';
  const rows = pods.map(({ namespace, name, state, slowestMs, phase }) => [
    printable(`${namespace}/${name}`),
    state,
    formatMs(slowestMs),
    printable(phase),
  ]);
  const lines = alignColumns([['POD', 'STATE', 'SLOWEST', 'PHASE'], ...rows]);
  return `${[...lines, ...(total > pods.length ? [`… and ${total - pods.length} more pods`] : [])].join('\n')}\n`;
}

function alignColumns(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('  ')
      .trimEnd(),
  );
}
