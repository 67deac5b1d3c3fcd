/** The memory of a process and its children, from procfs: what is resident, and whom it belongs to. */
import { readFileSync, writeFileSync } from 'node:fs';
import { processTree } from './process-usage.ts';

/** In MB of 10^6 bytes. */
export interface ProcessMemory {
  readonly rssMB: number;
  /** A page that several processes map counts in parts. */
  readonly pssMB: number;
  /** Of `pssMB`: the code and read-only data of programs and libraries. The rest is heaps, buffers, compiled code, stacks and tables in shared memory. */
  readonly filesMB: number;
  /** The largest size of the first process so far. */
  readonly peakMB: number;
}

/** Needs root. Throws when the process does not exist. */
export function readProcessMemory(pid: number): ProcessMemory {
  const all = processTree(pid).map(memoryOf);
  const sum = (of: (one: ReturnType<typeof memoryOf>) => number) => all.reduce((total, one) => total + of(one), 0);
  const peakMB = megabytes(readFileSync(`/proc/${pid}/status`, 'utf8'), 'VmHWM');
  return {
    rssMB: sum((one) => one.rss),
    pssMB: sum((one) => one.pss),
    filesMB: sum((one) => one.files),
    peakMB,
  };
}

/** From now on `peakMB` counts from the present size. */
export function resetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
}

function memoryOf(pid: number) {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  return { rss: megabytes(text, 'Rss'), pss: megabytes(text, 'Pss'), files: megabytes(text, 'Pss_File') };
}

/** The value of a line `NAME: N kB`; 0 when there is none. */
function megabytes(text: string, name: string): number {
  return (Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1] ?? 0) * 1024) / 1e6;
}
