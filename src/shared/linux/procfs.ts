/** Parses files of /proc and os-release. All functions are pure. */

/** Parses `/proc/meminfo`: bytes by name (`MemTotal`, `SwapTotal`, …). Values without a unit are counts. */
export function parseMeminfo(text: string): ReadonlyMap<string, number> {
  const values = new Map<string, number>();
  for (const [, name = '', number = '', unit] of text.matchAll(/^(\S+):\s+(\d+)( kB)?\s*$/gm)) {
    values.set(name, Number(number) * (unit ? 1024 : 1));
  }
  return values;
}

export interface ProcessStat {
  readonly virtualMemoryBytes: number;
  /** Clock ticks since boot: 100 per second on every Linux that Node supports. */
  readonly startTicks: number;
  readonly threads: number;
}

/** Parses `/proc/<pid>/stat`. The command in parentheses may contain any character, so the fields are counted from its end. */
export function parseProcessStat(text: string): ProcessStat {
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  // By its number in proc(5), which counts from 1. The first two, PID and command, are cut off.
  const field = (number: number) => Number(fields[number - 3]);
  return { threads: field(20), startTicks: field(22), virtualMemoryBytes: field(23) };
}

export const ticksPerSecond = 100;

/** Returns the boot time from `/proc/stat`, in seconds since the epoch. */
export function parseBootTime(text: string): number {
  return Number(/^btime (\d+)$/m.exec(text)?.[1] ?? 0);
}

/** Returns the soft limit of open files from `/proc/<pid>/limits`, Infinity for no limit. */
export function parseMaxOpenFiles(text: string): number {
  const [, soft = ''] = /^Max open files\s+(\S+)/m.exec(text) ?? [];
  return soft === 'unlimited' ? Infinity : Number(soft);
}

/** Returns the soft limit of the address space from `/proc/<pid>/limits`, Infinity for no limit. */
export function parseMaxAddressSpace(text: string): number {
  const [, soft = ''] = /^Max address space\s+(\S+)/m.exec(text) ?? [];
  return soft === 'unlimited' ? Infinity : Number(soft);
}

/** Returns a value of `/proc/<pid>/net/netstat` or `snmp`: pairs of lines, first the names, then the values. 0 when it is missing. */
export function parseNetstat(text: string, protocol: string, name: string): number {
  const [names = [], values = []] = text.split('\n').flatMap((line) => (line.startsWith(`${protocol}: `) ? [line.split(' ')] : []));
  return Number(values[names.indexOf(name)] ?? 0) || 0;
}

/** Returns the number of logical processors from `/proc/cpuinfo`. s390x writes `processor 0: …`. */
export function countProcessors(text: string): number {
  return text.match(/^processor(?:\s*| \d+):/gm)?.length ?? 0;
}

/** Parses `/etc/os-release`: `KEY=value` lines; the values may be quoted. */
export function parseOsRelease(text: string): ReadonlyMap<string, string> {
  const values = new Map<string, string>();
  for (const [, key = '', value = ''] of text.matchAll(/^([A-Z_]+)=(.*)$/gm)) values.set(key, value.replace(/^(["'])(.*)\1$/, '$2'));
  return values;
}
