/**
 * Counts the open files of each measured cgroup's processes, and reads the limit of open files of its first process. This takes a call for each open file,
 * of which tenants have as many as they like. So each cgroup is counted once in six samples, up to a bound, and a sample ends when it has read enough: it begins
 * with the cgroups whose counts are the oldest. Upstream: processStatsFromProcs of cadvisor's container/libcontainer/handler.go.
 */
import { opendirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { parseMaxOpenFiles } from '../../shared/linux/procfs.ts';

export interface ProcessDetails {
  readonly fileDescriptors: number;
  readonly sockets: number;
  /** The soft limit of the first process. −1: unlimited. NaN: not known. */
  readonly maxOpenFiles: number;
}

export interface DetailedCgroup {
  /** Its PIDs, one per line. */
  readonly reader: { readProcesses(): string };
}

const samplesPerCount = 6;
/** About a tenth of a second. */
const maxFilesPerSample = 40_000;
const [maxFilesPerCgroup, maxProcessesPerCgroup] = [4096, 512];
const cgroupsPerIteration = 25;

const unknown: ProcessDetails = { fileDescriptors: 0, sockets: 0, maxOpenFiles: NaN };

export class ProcessDetailsSampler<K> {
  readonly #proc: string;
  readonly #known = new Map<K, { details: ProcessDetails; sample: number }>();
  #sample = 0;

  constructor(proc: string) {
    this.#proc = proc;
  }

  /** Forgets the cgroups that are not among these. */
  async sample(cgroups: ReadonlyMap<K, DetailedCgroup>): Promise<void> {
    this.#sample += 1;
    for (const key of this.#known.keys()) if (!cgroups.has(key)) this.#known.delete(key);
    const due = Array.from(cgroups.keys(), (key) => ({ key, sample: this.#known.get(key)?.sample ?? -Infinity }))
      .filter(({ sample }) => sample + samplesPerCount <= this.#sample)
      .sort((a, b) => a.sample - b.sample);
    let left = maxFilesPerSample;
    for (const [index, { key, sample }] of due.entries()) {
      if (left <= 0) return;
      if (index % cgroupsPerIteration === cgroupsPerIteration - 1) await nextIteration();
      const pids = cgroups.get(key)!.reader.readProcesses().split('\n', maxProcessesPerCgroup).filter(Boolean);
      const { read, ...details } = readProcessDetails(this.#proc, pids, Math.min(left, maxFilesPerCgroup));
      left -= read;
      // Spreads the cgroups of the first sample over the following ones.
      this.#known.set(key, { details, sample: sample === -Infinity ? this.#sample - (index % samplesPerCount) : this.#sample });
    }
  }

  of(key: K): ProcessDetails {
    return this.#known.get(key)?.details ?? unknown;
  }
}

/** @param maxFiles how many open files are looked at */
export function readProcessDetails(proc: string, pids: readonly string[], maxFiles: number): ProcessDetails & { readonly read: number } {
  let fileDescriptors = 0;
  let sockets = 0;
  let read = 0;
  for (const pid of pids) {
    const directory = join(proc, pid, 'fd');
    try {
      const limit = maxFiles - read;
      const names = readNames(directory, limit);
      // The size of this directory is the number of open files, since Linux 6.2.
      fileDescriptors += names.length < limit ? names.length : Math.max(names.length, statSync(directory).size);
      // A process without open files takes time, too.
      read += names.length + 1;
      for (const name of names) if (isSocket(join(directory, name))) sockets += 1;
    } catch {
      // The process has ended.
    }
    if (read >= maxFiles) break;
  }
  return { fileDescriptors, sockets, maxOpenFiles: pids[0] === undefined ? NaN : readMaxOpenFiles(join(proc, pids[0], 'limits')), read };
}

/** At most `limit` of them: a process may have a million open files. */
function readNames(path: string, limit: number): string[] {
  const names: string[] = [];
  const directory = opendirSync(path, { bufferSize: 128 });
  try {
    for (let entry = directory.readSync(); entry; entry = names.length < limit ? directory.readSync() : null) names.push(entry.name);
  } finally {
    directory.closeSync();
  }
  return names;
}

function isSocket(path: string): boolean {
  try {
    return readlinkSync(path).startsWith('socket');
  } catch {
    return false;
  }
}

function readMaxOpenFiles(path: string): number {
  try {
    const limit = parseMaxOpenFiles(readFileSync(path, 'latin1'));
    return limit === Infinity ? -1 : limit;
  } catch {
    return NaN;
  }
}
