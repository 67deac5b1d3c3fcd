/**
 * The files of one log in the order of its rotations. A follower that has read a file to its end asks for the next one. Any number
 * of rotations in between is found by the names of the rotated logs: the follower reads every file that is not yet removed, compressed or not.
 */
import { readdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { goQuote } from '../../../shared/kubernetes/go-text.ts';
import { compareRotations, parseRotatedLogName } from '../../../shared/container-logs/rotated-logs.ts';
import { CompressedLog } from './compressed-log.ts';
import { isMissing, LogFile } from './log-file.ts';

export interface LogFileInSequence {
  readonly file: LogFile | CompressedLog;
  /** The file's rotation: null while it is the current log. */
  readonly timestamp: string | null;
  /** The newest rotation when the current log was opened: the file's own rotation will be the next one. Null for a rotated file. */
  readonly previous: string | null;
}

/** Between a rotation's rename and the runtime's new file there is no log. */
const retryMs = 100;
const maxRetries = 3;
/** A log is rotated at most once a second, so a second attempt succeeds. */
const maxAttempts = 10;

export class LogSequence {
  readonly #path: string;
  readonly #podLogsDir: string;
  /** The folder and the name of the log. They are without symlinks once the log has been opened. */
  #folder: string;
  #logName: string;

  constructor(path: string, podLogsDir: string) {
    this.#path = path;
    this.#podLogsDir = podLogsDir;
    this.#folder = dirname(path);
    this.#logName = basename(path);
  }

  /** The folder of the log: a change of the log is a change in this folder. */
  get folder(): string {
    return this.#folder;
  }

  /**
   * Opens the current log. While the runtime does not open a new file, the newest rotated one is the current log. Rejects with a message for
   * the client.
   */
  async openCurrent(): Promise<LogFileInSequence & { readonly file: LogFile }> {
    for (let retriesLeft = maxRetries; ; retriesLeft -= 1) {
      try {
        return await this.#openCurrent();
      } catch (err) {
        if (!isMissing(err)) throw err;
        if (retriesLeft === 0) return await this.#openNewestRotation(err);
        await sleep(retryMs);
      }
    }
  }

  /** Null: the log has not been rotated, or the runtime has not opened the new file. Rejects with a message for the client. */
  async openNext(current: LogFileInSequence): Promise<LogFileInSequence | null> {
    const { file } = current;
    for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
      if (file instanceof LogFile && (await file.isAt(this.#path))) return null;
      const rotations = await this.#rotations();
      const rotated = await this.#openFirstAfter(current, rotations);
      if (rotated) return rotated;
      const next = await this.#openCurrent().catch(nullIfMissing);
      if (next === null || next.previous === (rotations.at(-1) ?? null)) return next;
      // A rotation took place since the list was read.
      await next.file.close();
    }
    throw this.#tooFast();
  }

  async #openFirstAfter({ file, timestamp, previous }: LogFileInSequence, rotations: readonly string[]): Promise<LogFileInSequence | null> {
    const lastRead = timestamp ?? previous;
    const compare = compareRotations(Date.now());
    for (const rotation of rotations) {
      if (lastRead !== null && compare(rotation, lastRead) <= 0) continue;
      const next = await this.#openRotation(rotation);
      if (next === null) continue;
      // The first later rotation is the current file itself, unless its rotation has been removed.
      if (!(file instanceof LogFile) || !(await closeOnFailure(next, file.isSameLog(next)))) {
        return { file: next, timestamp: rotation, previous: null };
      }
      await next.close();
    }
    return null;
  }

  async #openCurrent(): Promise<LogFileInSequence & { readonly file: LogFile }> {
    for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
      const file = await LogFile.open(this.#path, this.#podLogsDir);
      this.#folder = file.directory;
      this.#logName = basename(file.realPath);
      const previous = (await closeOnFailure(file, this.#rotations())).at(-1) ?? null;
      if (await file.isAt(this.#path)) return { file, timestamp: null, previous };
      // The file has been rotated meanwhile, so `previous` may be its own rotation.
      await file.close();
    }
    throw this.#tooFast();
  }

  #tooFast(): Error {
    return new Error(`failed to open log file ${goQuote(this.#path)}: it is replaced all the time`);
  }

  async #openNewestRotation(cause: unknown): Promise<LogFileInSequence & { readonly file: LogFile }> {
    const timestamp = (await this.#rotations()).at(-1);
    const file = timestamp === undefined ? null : await this.#openPlain(timestamp);
    if (!file) throw cause;
    return { file, timestamp: timestamp!, previous: null };
  }

  /** Null: the rotation has been removed. While a log is being compressed, the plain or the compressed file exists at every moment. */
  async #openRotation(timestamp: string): Promise<LogFile | CompressedLog | null> {
    const compressed = () => CompressedLog.open(`${this.#rotationPath(timestamp)}.gz`, this.#podLogsDir).catch(nullIfMissing);
    return (await this.#openPlain(timestamp)) ?? (await compressed());
  }

  #openPlain(timestamp: string): Promise<LogFile | null> {
    return LogFile.open(this.#rotationPath(timestamp), this.#podLogsDir).catch(nullIfMissing);
  }

  #rotationPath(timestamp: string): string {
    return join(this.#folder, `${this.#logName}.${timestamp}`);
  }

  /** The timestamps of the rotated logs, oldest first. */
  async #rotations(): Promise<string[]> {
    const names = await readdir(this.#folder).catch((err: NodeJS.ErrnoException) => {
      if (err.code === 'ENOENT') return [];
      throw err;
    });
    const rotations = names.map((name) => parseRotatedLogName(this.#logName, name)).filter((parsed) => parsed !== null);
    const timestamps = new Set(rotations.filter(({ kind }) => kind !== 'temporary').map(({ timestamp }) => timestamp));
    return [...timestamps].toSorted(compareRotations(Date.now()));
  }
}

/** Closes the file when the result rejects: a FileHandle that nobody closes ends the thread when it is garbage-collected. */
async function closeOnFailure<T>(file: LogFile | CompressedLog, result: Promise<T>): Promise<T> {
  try {
    return await result;
  } catch (err) {
    await file.close();
    throw err;
  }
}

function nullIfMissing(err: unknown): null {
  if (isMissing(err)) return null;
  throw err;
}
