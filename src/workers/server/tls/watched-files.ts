/**
 * Reloads certificate files that other tools replace by writing, renaming or switching a symlink. Watches the folders, and also reads the
 * files every minute, because inotify may lose events. Upstream's dynamiccertificates does both.
 */
import { watch, type FSWatcher } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Logger } from '../../../shared/log/logger.ts';

export interface WatchedFilesOptions {
  readonly paths: readonly string[];
  /**
   * Called with the contents, in the order of the paths, at the start and after each change. An error is logged, and the files are read
   * again later.
   */
  readonly onContents: (contents: readonly Buffer[]) => void;
  /** False: the files are not read again after they were accepted once. */
  readonly reload: boolean;
  readonly logger: Logger;
}

const readPeriodMs = 60_000;
/** Period until the files are accepted for the first time. */
const retryPeriodMs = 1000;
/** Certificate and key are written one after the other. */
const settleMs = 100;

export class WatchedFiles {
  readonly #options: WatchedFilesOptions;
  #watchers: FSWatcher[] = [];
  #timer: NodeJS.Timeout | undefined;
  #lastContents = '';
  /** Whether the last read contents were accepted. */
  #accepted = false;
  #everAccepted = false;
  #closed = false;
  #lastError = '';
  /** Only one read runs at a time: an older read that ends later would restore old contents. */
  #isReading = false;
  #readAgain = false;

  /** Resolves when the files were read once, whether they were accepted or not. */
  static async start(options: WatchedFilesOptions): Promise<WatchedFiles> {
    const files = new WatchedFiles(options);
    if (options.reload) files.#watch();
    await files.#readAndSchedule();
    return files;
  }

  private constructor(options: WatchedFilesOptions) {
    this.#options = options;
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    for (const watcher of this.#watchers) watcher.close();
    this.#watchers = [];
  }

  /** The files of a folder that can not be watched are read periodically. */
  #watch(): void {
    for (const folder of new Set(this.#options.paths.map((path) => dirname(path)))) {
      try {
        const watcher = watch(folder, { persistent: false }, () => this.#onFolderEvent());
        watcher.on('error', () => watcher.close());
        this.#watchers.push(watcher);
      } catch (err) {
        this.#options.logger.debug({ folder, err }, 'folder can not be watched; its files are read every minute');
      }
    }
  }

  #onFolderEvent(): void {
    if (this.#isReading) this.#readAgain = true;
    else this.#scheduleRead(settleMs);
  }

  #scheduleRead(ms: number): void {
    if (this.#closed) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#readAndSchedule(), ms);
  }

  async #readAndSchedule(): Promise<void> {
    if (this.#isReading) {
      this.#readAgain = true;
      return;
    }
    this.#isReading = true;
    await this.#read();
    this.#isReading = false;
    if (this.#accepted && !this.#options.reload) return;
    const shouldReadAgain = this.#readAgain;
    this.#readAgain = false;
    if (shouldReadAgain) this.#scheduleRead(settleMs);
    else this.#scheduleRead(this.#everAccepted ? readPeriodMs : retryPeriodMs);
  }

  async #read(): Promise<void> {
    const { paths, onContents, logger } = this.#options;
    try {
      const contents = await Promise.all(paths.map((path) => readFile(path)));
      if (this.#closed) return;
      const currentContents = contents.map((content) => content.toString('base64')).join(' ');
      if (currentContents !== this.#lastContents || !this.#accepted) {
        this.#accepted = false;
        onContents(contents);
        const changed = this.#lastContents !== '' && currentContents !== this.#lastContents;
        this.#lastContents = currentContents;
        this.#accepted = true;
        this.#everAccepted = true;
        this.#lastError = '';
        if (changed) logger.info({ paths }, 'reloaded changed files');
      }
    } catch (err) {
      this.#accepted = false;
      this.#logError(err);
    }
  }

  /** Logs an error only when it differs from the last one. */
  #logError(err: unknown): void {
    const { paths, logger } = this.#options;
    const message = String(err);
    if (message === this.#lastError) return;
    this.#lastError = message;
    logger.error({ paths, err, lastGoodInUse: this.#everAccepted }, 'failed to load files; retrying');
  }
}
