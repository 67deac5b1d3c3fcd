/** Formats the live table of pods, one line per pod of `/pods`. Pure. */
import type { ContainerStatus, Pod } from '../../src/shared/kubernetes/api.ts';

const columns = ['NAME', 'PHASE', 'READY', 'RESTARTS', 'AGE', 'WAITING FOR'] as const;

export function formatPodTable(pods: readonly Pod[], nowMs: number): string {
  const rows = pods.toSorted((a, b) => a.metadata.name.localeCompare(b.metadata.name)).map((pod) => podRow(pod, nowMs));
  const widths = columns.map((title, i) => Math.max(title.length, ...rows.map((row) => row[i]!.length)));
  return [columns, ...rows]
    .map((row) =>
      row
        .map((cell, i) => cell.padEnd(widths[i]!))
        .join('   ')
        .trimEnd(),
    )
    .join('\n');
}

export interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

/** Returns null when the table can not be redrawn: without a terminal, or when it reports no size (a serial console, some CI runners). */
export function terminalSize({ isTTY, columns, rows }: { isTTY?: boolean; columns?: number; rows?: number }): TerminalSize | null {
  return isTTY && columns && rows ? { columns, rows } : null;
}

/** Truncates the table to the terminal's size, because wrapped and scrolled lines can not be redrawn. */
export function fitToTerminal(table: string, { columns, rows }: TerminalSize): readonly string[] {
  return table
    .split('\n')
    .slice(0, Math.max(1, rows - 1))
    .map((line) => (line.length > columns ? `${line.slice(0, columns - 1)}…` : line));
}

function podRow({ metadata, spec, status = {} }: Pod, nowMs: number): readonly string[] {
  const sidecars = new Set((spec.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always').map(({ name }) => name));
  const init = status.initContainerStatuses ?? [];
  const counted = [...init.filter(({ name }) => sidecars.has(name)), ...(status.containerStatuses ?? [])];
  const restarts = [...init, ...(status.containerStatuses ?? [])].reduce((sum, { restartCount }) => sum + restartCount, 0);
  const ready = `${counted.filter((container) => container.ready).length}/${counted.length}`;
  return [
    metadata.name,
    status.phase ?? 'Unknown',
    ready,
    String(restarts),
    age(status.startTime, nowMs),
    waitingFor([...init, ...(status.containerStatuses ?? [])], status),
  ];
}

function age(startTime: string | undefined, nowMs: number): string {
  if (startTime === undefined) return '-';
  const seconds = Math.max(0, Math.floor((nowMs - Date.parse(startTime)) / 1000));
  if (seconds < 120) return `${seconds}s`;
  return seconds < 7200 ? `${Math.floor(seconds / 60)}m` : `${Math.floor(seconds / 3600)}h`;
}

/** Returns the first reason why the pod is not running. Empty when it is. */
function waitingFor(containers: readonly ContainerStatus[], status: NonNullable<Pod['status']>): string {
  if (status.message) return onOneLine(`${status.reason ?? ''} ${status.message}`.trim());
  for (const { name, state } of containers) {
    if (state?.waiting?.reason) return onOneLine([`${name}: ${state.waiting.reason}`, state.waiting.message].filter(Boolean).join(', '));
  }
  return '';
}

function onOneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ');
}
