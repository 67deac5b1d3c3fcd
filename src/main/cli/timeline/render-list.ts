/** Renders the list of the slowest pods. Pure. */
import type { TimelineListJson } from '../../../shared/contracts/timeline.ts';
import { formatMs } from '../../../shared/timeline/format-duration.ts';
import { alignColumns } from '../align-columns.ts';
import { printable } from '../printable.ts';

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
