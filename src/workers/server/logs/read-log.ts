/**
 * A container's log from its file to whoever takes the bytes: to its end, or for as long as the container lives, over rotations. No
 * faster than the bytes are taken. Upstream: ReadLogs of k8s.io/cri-client/pkg/logs, which knows no rotation by number.
 */
import type { Follower } from './followers.ts';
import { isMissing, LogFile } from './log-file.ts';
import type { LogFilter } from './log-filter.ts';

/**
 * A file that took the log's place may be there before the runtime has written the last line to the old one; and the end of a container
 * may be known before its last line is in the file.
 */
const settleMs = 100;

export interface LogSource {
  readonly path: string;
  readonly podLogsDir: string;
  readonly tailLines: number | null;
  readonly filter: LogFilter;
  /** Null: the log is read to its present end. */
  readonly follow: ((directory: string) => Follower) | null;
  /** Takes what there is; resolves when more may come, with false when nobody wants more. */
  readonly write: (bytes: Buffer) => Promise<boolean>;
  /** Called when the file is open: from there on there is an answer. */
  readonly onOpen: () => void;
  readonly sleep: (ms: number) => Promise<void>;
}

/** Resolves at the end, or when nobody wants more. Rejects with what the client should read. */
export async function readLog(source: LogSource): Promise<void> {
  const reader = new LogReader(source, await openLog(source));
  try {
    await reader.run();
  } finally {
    await reader.close();
  }
}

/** A log that is rotated this moment has no file until the runtime opens the new one. */
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
    // Watched before it is read: a line that comes between the end and the wait wakes it.
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

  /** True at the end of a container's log, false when nobody wants more. */
  async #follow(follower: Follower): Promise<boolean> {
    const { filter, sleep } = this.#source;
    for (;;) {
      filter.checkFormat();
      const event = await follower.next();
      if (event === 'closed') return false;
      const before = this.#file.position;
      if (!(await this.#drain())) return false;
      // While lines come there is nothing else to look for, but now and then.
      if (event === 'changed' && this.#file.position > before) continue;
      if (await this.#file.rewindIfTruncated()) filter.startNewFile();
      else if (await this.#file.isReplaced()) {
        if (!(await this.#nextFile(follower))) return false;
      }
      if (event !== 'ended') continue;
      await sleep(settleMs);
      return this.#drain();
    }
  }

  /** The rest of the old file, then the new one: opened first, lest it be rotated away meanwhile. */
  async #nextFile(follower: Follower): Promise<boolean> {
    const { path, podLogsDir, sleep, filter } = this.#source;
    const next = await LogFile.open(path, podLogsDir).catch((err: unknown) => {
      if (isMissing(err)) return null;
      throw err;
    });
    // Gone again already: the one after it will be seen too.
    if (!next) return true;
    const old = this.#file;
    try {
      await sleep(settleMs);
      if (!(await this.#drain())) return false;
    } finally {
      this.#file = next;
      await old.close();
    }
    filter.startNewFile();
    follower.move(next.directory);
    return this.#drain();
  }

  /** Everything to the present end of the file. */
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
