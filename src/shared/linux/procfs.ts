/** What /proc and /sys say of the machine and of processes: parsers of their texts, each a pure function. */

/** `/proc/meminfo`: bytes by name (`MemTotal`, `SwapTotal`, …); counts without a unit as they are. */
export function parseMeminfo(text: string): ReadonlyMap<string, number> {
  const values = new Map<string, number>();
  for (const [, name = '', number = '', unit] of text.matchAll(/^(\S+):\s+(\d+)( kB)?\s*$/gm)) {
    values.set(name, Number(number) * (unit ? 1024 : 1));
  }
  return values;
}

export interface ProcessStat {
  readonly virtualMemoryBytes: number;
  /** In clock ticks (100 a second on every Linux that Node runs on) since the machine started. */
  readonly startTicks: number;
  readonly threads: number;
}

/** `/proc/<pid>/stat`. The command's name, in parentheses, may hold anything: the fields are counted from its end. */
export function parseProcessStat(text: string): ProcessStat {
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const field = (number: number) => Number(fields[number - 3]);
  return { threads: field(20), startTicks: field(22), virtualMemoryBytes: field(23) };
}

export const ticksPerSecond = 100;

/** Seconds since the epoch at which the machine started, from `/proc/stat`. */
export function parseBootTime(text: string): number {
  return Number(/^btime (\d+)$/m.exec(text)?.[1] ?? 0);
}

/** The soft limit of open files, from `/proc/<pid>/limits`; Infinity when there is none. */
export function parseMaxOpenFiles(text: string): number {
  const [, soft = ''] = /^Max open files\s+(\S+)/m.exec(text) ?? [];
  return soft === 'unlimited' ? Infinity : Number(soft);
}

/** Logical processors, from `/proc/cpuinfo`. */
export function countProcessors(text: string): number {
  return text.match(/^processor\s*:/gm)?.length ?? 0;
}

/** `KEY=value` lines, values quoted or not (`/etc/os-release`). */
export function parseOsRelease(text: string): ReadonlyMap<string, string> {
  const values = new Map<string, string>();
  for (const [, key = '', value = ''] of text.matchAll(/^([A-Z_]+)=(.*)$/gm)) values.set(key, value.replace(/^(["'])(.*)\1$/, '$2'));
  return values;
}
