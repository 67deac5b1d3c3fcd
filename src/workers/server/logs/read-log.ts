/**
 * Reads a container's log to its end, or until the container ends, across rotations. Reads only as fast as the bytes are written to the
 * client. Upstream: ReadLogs of k8s.io/cri-client/pkg/logs, which loses lines when a log is rotated.
 */
import type { Follower } from './followers.ts';
import { LogFile } from './log-file.ts';
import type { LogFilter } from './log-filter.ts';
import { LogSequence, type LogFileInSequence } from './log-sequence.ts';

/** After a rotation or the end of the container, the runtime may still write the last lines to the file. */
const settleMs = 100;
/** The runtime gets one second to close a file: 50 checks, 20 ms apart. */
const writerCheckMs = 20;
const maxWriterChecks = 50;

export interface LogSource {
  readonly path: string;
  readonly podLogsDir: string;
  readonly tailLines: number | null;
  readonly filter: LogFilter;
  /** Null: the log is read to its current end. */
  readonly follow: ((directory: string) => Follower) | null;
  /** Resolves to true when more may be written, to false when the client needs no more. */
  readonly write: (bytes: Buffer) => Promise<boolean>;
  /** Called when the file is open, so that the response can start. */
  readonly onOpen: () => void;
  readonly sleep: (ms: number) => Promise<void>;
  /** Aborts when the client has disconnected. A long log without a line for the client is not read further. */
  readonly signal: AbortSignal;
}

/** Resolves at the end of the log, or when the client needs no more. Rejects with a message for the client. */
export async function readLog(source: LogSource): Promise<void> {
  const sequence = new LogSequence(source.path, source.podLogsDir);
  const reader = new LogReader(source, sequence, await sequence.openCurrent());
  try {
    await reader.run();
  } finally {
    await reader.close();
  }
}

class LogReader {
  readonly #source: LogSource;
  readonly #sequence: LogSequence;
  #current: LogFileInSequence;
  #follower: Follower | null = null;

  constructor(source: LogSource, sequence: LogSequence, first: LogFileInSequence) {
    this.#source = source;
    this.#sequence = sequence;
    this.#current = first;
  }

  async run(): Promise<void> {
    const { filter, follow, tailLines, onOpen, signal } = this.#source;
    const { file } = this.#current;
    if (tailLines !== null && file instanceof LogFile) filter.skip(await file.seekTail(tailLines, signal));
    // Starts to watch before reading, so that a line written after the last read wakes the follower.
    this.#follower = follow?.(this.#sequence.folder) ?? null;
    onOpen();
    if (!(await this.#drain())) return;
    if (this.#follower && !(await this.#follow(this.#follower))) return;
    await this.#write(filter.end());
  }

  async close(): Promise<void> {
    this.#follower?.close();
    await this.#current.file.close();
  }

  /** Returns true at the end of the container's log, false when the client needs no more. */
  async #follow(follower: Follower): Promise<boolean> {
    const { filter } = this.#source;
    for (;;) {
      filter.checkFormat();
      if (!(await this.#write(filter.flush()))) return false;
      const event = await follower.next();
      if (event === 'closed') return false;
      const { file } = this.#current;
      const positionBefore = file instanceof LogFile ? file.position : 0;
      if (!(await this.#drain())) return false;
      // Rotation and truncation are not checked while there are new lines; the periodic rescan checks for them.
      if (event === 'changed' && file instanceof LogFile && file.position > positionBefore) continue;
      if (event === 'ended' && !(await this.#drainSettled())) return false;
      if (file instanceof LogFile && (await file.rewindIfTruncated())) {
        filter.startNewFile();
        if (!(await this.#drain())) return false;
      }
      if (!(await this.#readRotations(follower))) return false;
      if (event === 'ended') return true;
    }
  }

  /** Reads all later files to the current end of the log. Returns false when the client needs no more. */
  async #readRotations(follower: Follower): Promise<boolean> {
    for (let next = await this.#openNext(); next; next = await this.#openNext()) {
      const { file } = this.#current;
      try {
        if (!(await this.#drainSettled())) return false;
      } finally {
        this.#current = next;
        await file.close();
      }
      this.#source.filter.startNewFile();
      follower.move(this.#sequence.folder);
      if (!(await this.#drain())) return false;
    }
    return true;
  }

  #openNext(): Promise<LogFileInSequence | null> {
    return this.#sequence.openNext(this.#current);
  }

  /** Reads to the end of a file that nobody should write any more. Returns false when the client needs no more. */
  async #drainSettled(): Promise<boolean> {
    const { file } = this.#current;
    const { sleep } = this.#source;
    let hasWriter = file instanceof LogFile ? file.hasWriter() : false;
    if (hasWriter === undefined) await sleep(settleMs);
    for (let check = 0; hasWriter === true && check < maxWriterChecks; check += 1) {
      await sleep(writerCheckMs);
      hasWriter = (file as LogFile).hasWriter();
    }
    return this.#drain();
  }

  /** Reads to the current end of the file. Returns false when the client needs no more. */
  async #drain(): Promise<boolean> {
    const { filter, signal } = this.#source;
    while (!filter.done && !signal.aborted) {
      const block = await this.#current.file.read();
      if (!block) return true;
      if (!(await this.#write(filter.push(block)))) return false;
    }
    return false;
  }

  #write(bytes: Buffer): Promise<boolean> {
    return bytes.length === 0 ? Promise.resolve(true) : this.#source.write(bytes);
  }
}
