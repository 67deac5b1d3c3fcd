/**
 * Counts the open files of each measured cgroup's processes, and reads the limit of open files of its first process. This takes a call for each open file,
 * and tenants open any number of files. So each cgroup is counted once in six samples, a sample ends when it has read enough, and a count that is not
 * complete continues in the next sample: every count becomes exact in the end, and a large count delays no other count for long. Upstream:
 * processStatsFromProcs of cadvisor's container/libcontainer/handler.go.
 */
import { opendirSync, readFileSync, readlinkSync } from 'node:fs';
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
  /** Returns the PIDs of the cgroup, one per line. */
  readonly reader: { readProcesses(): string };
}

const samplesPerCount = 6;
/** Reading these takes about a tenth of a second. */
const maxFilesPerSample = 40_000;
/** How many files of one cgroup are read before those of the next one. */
const filesPerTurn = 4096;
/** Then the sampler yields to the event loop. */
const filesPerIteration = 2048;
/** A count reads this many files at once. */
const filesPerStep = 128;

const unknown: ProcessDetails = { fileDescriptors: 0, sockets: 0, maxOpenFiles: NaN };

interface Count {
  /** The result of the last complete count. During the first count, the result so far. */
  details: ProcessDetails;
  /** The number of the sample in which this count began. The oldest count continues first. */
  beganIn: number;
  /** The next count is due `samplesPerCount` samples after this one. */
  periodBeganIn: number;
  /** One count of the cgroup has ended. */
  isComplete: boolean;
  /** Undefined between two counts. */
  steps: Generator<CountStep> | undefined;
}

export class ProcessDetailsSampler<K> {
  readonly #proc: string;
  readonly #counts = new Map<K, Count>();
  /** The number of the current sample. */
  #sample = 0;

  constructor(proc: string) {
    this.#proc = proc;
  }

  /** Counts the details of the processes of these cgroups, as far as the sample's budget goes. Forgets other cgroups. */
  async sample(cgroups: ReadonlyMap<K, DetailedCgroup>): Promise<void> {
    this.#sample += 1;
    for (const key of this.#counts.keys()) if (!cgroups.has(key)) this.#forget(key);
    this.#begin(cgroups);
    let filesLeft = maxFilesPerSample;
    let filesUntilPause = filesPerIteration;
    let unfinished = [...this.#counts.values()].filter(({ steps }) => steps).sort((a, b) => a.beganIn - b.beganIn);
    while (unfinished.length > 0 && filesLeft > 0) {
      for (const count of unfinished) {
        const read = advance(count, Math.min(filesLeft, filesPerTurn));
        filesLeft -= read;
        filesUntilPause -= read;
        if (filesLeft <= 0) return;
        if (filesUntilPause > 0) continue;
        filesUntilPause = filesPerIteration;
        await nextIteration();
      }
      unfinished = unfinished.filter(({ steps }) => steps);
    }
  }

  of(key: K): ProcessDetails {
    return this.#counts.get(key)?.details ?? unknown;
  }

  close(): void {
    for (const key of this.#counts.keys()) this.#forget(key);
  }

  #begin(cgroups: ReadonlyMap<K, DetailedCgroup>): void {
    let index = 0;
    for (const [key, { reader }] of cgroups) {
      const known = this.#counts.get(key);
      if (known && (known.steps || known.periodBeganIn + samplesPerCount > this.#sample)) continue;
      const steps = countFiles(this.#proc, () => reader.readProcesses());
      // Spreads the cgroups of the first sample over the following ones.
      const periodBeganIn = known ? this.#sample : this.#sample - (index % samplesPerCount);
      this.#counts.set(key, {
        details: known?.details ?? unknown,
        isComplete: known?.isComplete ?? false,
        beganIn: this.#sample,
        periodBeganIn,
        steps,
      });
      index += 1;
    }
  }

  /** Closes the directory that an unfinished count reads. */
  #forget(key: K): void {
    this.#counts.get(key)?.steps?.return(undefined);
    this.#counts.delete(key);
  }
}

/** Continues a count. Returns how many files it has read; a process counts as one, too. */
function advance(count: Count, maxFiles: number): number {
  let read = 0;
  while (count.steps && read < maxFiles) {
    const { value, done } = count.steps.next();
    if (done) {
      count.steps = undefined;
      count.isComplete = true;
      break;
    }
    read += value.read;
    if (value.isLast || !count.isComplete) count.details = value.details;
  }
  return read;
}

export interface CountStep {
  /** The counts so far. */
  readonly details: ProcessDetails;
  readonly isLast: boolean;
  /** How many files and processes this step has read. */
  readonly read: number;
}

/** Counts in steps of about a tenth of a millisecond. Ending the generator early closes the open directory. */
export function* countFiles(proc: string, readProcesses: () => string): Generator<CountStep> {
  const pids = readProcesses();
  const firstPID = Number.parseInt(pids, 10);
  const maxOpenFiles = firstPID > 0 ? readMaxOpenFiles(join(proc, String(firstPID), 'limits')) : NaN;
  let fileDescriptors = 0;
  let sockets = 0;
  let read = 0;
  const step = (isLast: boolean): CountStep => {
    const result = { details: { fileDescriptors, sockets, maxOpenFiles }, isLast, read };
    read = 0;
    return result;
  };
  // Reads line by line instead of splitting the text: a tenant may have a million processes.
  for (let start = 0, end = 0; start < pids.length; start = end + 1) {
    // The end of the line, or of the text.
    end = (pids.indexOf('\n', start) + 1 || pids.length + 1) - 1;
    const pid = pids.slice(start, end);
    if (pid === '') continue;
    // A process without open files takes time, too.
    read += 1;
    for (const isOpenSocket of openFiles(join(proc, pid, 'fd'))) {
      fileDescriptors += 1;
      if (isOpenSocket) sockets += 1;
      if ((read += 1) >= filesPerStep) yield step(false);
    }
    if (read >= filesPerStep) yield step(false);
  }
  yield step(true);
}

/** Yields for each open file whether it is a socket. Stops when the process ends meanwhile. */
function* openFiles(path: string): Generator<boolean> {
  let directory;
  try {
    directory = opendirSync(path, { bufferSize: 128 });
    for (let entry = directory.readSync(); entry; entry = directory.readSync()) yield isSocket(join(path, entry.name));
  } catch {
    // The process has ended.
  } finally {
    directory?.closeSync();
  }
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
