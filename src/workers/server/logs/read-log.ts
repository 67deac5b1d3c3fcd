/**
 * Reads a container's log to its end, or until the container ends, across rotations. Reads only as fast as the bytes are written to the
 * client. Upstream: ReadLogs of k8s.io/cri-client/pkg/logs, which does not handle rotation by number.
 */
import type { Follower } from './followers.ts';
import { isMissing, LogFile } from './log-file.ts';
import type { LogFilter } from './log-filter.ts';

/**
 * After rotation the runtime may still write the last line to the old file. A container's end may be known before its last line is in the
 * file.
 */
const settleMs = 100;

export interface LogSource {
  readonly path: string;
  readonly podLogsDir: string;
  readonly tailLines: number | null;
  readonly filter: LogFilter;
  /** Null: the log is read to its current end. */
  readonly follow: ((directory: string) => Follower) | null;
  /** Resolves when more may be written; to false when the client needs no more. */
  readonly write: (bytes: Buffer) => Promise<boolean>;
  /** Called when the file is open, so that the response can start. */
  readonly onOpen: () => void;
  readonly sleep: (ms: number) => Promise<void>;
}

/** Resolves at the end of the log, or when the client needs no more. Rejects with a message for the client. */
export async function readLog(source: LogSource): Promise<void> {
  const reader = new LogReader(source, await openLog(source));
  try {
    await reader.run();
  } finally {
    await reader.close();
  }
}

/** Retries, because during rotation there is no file until the runtime opens the new one. */
async function openLog({ path, podLogsDir, sleep }: LogSource): Promise<LogFile> {
  for (let triesLeft = 3; ; triesLeft -= 1) {
    try {
      return await LogFile.open(path, podLogsDir);
    } catch (err) {
      if (triesLeft === 0 || !isMissing(err)) throw err;
      await sleep(settleMs);
    }
  }
}

class LogReader {
  readonly #source: LogSource;
  #file: LogFile;
  #follower: Follower | null = null;

  constructor(source: LogSource, file: LogFile) {
    this.#source = source;
    this.#file = file;
  }

  async run(): Promise<void> {
    const { filter, follow, tailLines, onOpen } = this.#source;
    if (tailLines !== null) await this.#file.seekTail(tailLines);
    // Starts to watch before reading, so that a line written after the last read wakes the follower.
    this.#follower = follow?.(this.#file.directory) ?? null;
    onOpen();
    if (!(await this.#drain())) return;
    if (this.#follower && !(await this.#follow(this.#follower))) return;
    await this.#write(filter.end());
  }

  async close(): Promise<void> {
    this.#follower?.close();
    await this.#file.close();
  }

  /** Returns true at the end of the container's log, false when the client needs no more. */
  async #follow(follower: Follower): Promise<boolean> {
    const { filter, sleep } = this.#source;
    for (;;) {
      filter.checkFormat();
      const event = await follower.next();
      if (event === 'closed') return false;
      const positionBefore = this.#file.position;
      if (!(await this.#drain())) return false;
      // Rotation and truncation are not checked while there are new lines; the periodic rescan checks for them.
      if (event === 'changed' && this.#file.position > positionBefore) continue;
      if (await this.#file.rewindIfTruncated()) filter.startNewFile();
      else if (await this.#file.isReplaced()) {
        if (!(await this.#switchFile(follower))) return false;
      }
      if (event !== 'ended') continue;
      await sleep(settleMs);
      return this.#drain();
    }
  }

  /** Reads the rest of the old file, then the new one. Opens the new file first, because it may be rotated meanwhile. */
  async #switchFile(follower: Follower): Promise<boolean> {
    const { path, podLogsDir, sleep, filter } = this.#source;
    const next = await LogFile.open(path, podLogsDir).catch((err: unknown) => {
      if (isMissing(err)) return null;
      throw err;
    });
    // The new file was rotated already. The next event will find its successor.
    if (!next) return true;
    const rotatedFile = this.#file;
    try {
      await sleep(settleMs);
      if (!(await this.#drain())) return false;
    } finally {
      this.#file = next;
      await rotatedFile.close();
    }
    filter.startNewFile();
    follower.move(next.directory);
    return this.#drain();
  }

  /** Reads to the current end of the file. Returns false when the client needs no more. */
  async #drain(): Promise<boolean> {
    const { filter } = this.#source;
    while (!filter.done) {
      const block = await this.#file.read();
      if (!block) return true;
      if (!(await this.#write(filter.push(block)))) return false;
    }
    return false;
  }

  #write(bytes: Buffer): Promise<boolean> {
    return bytes.length === 0 ? Promise.resolve(true) : this.#source.write(bytes);
  }
}
