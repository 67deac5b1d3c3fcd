/**
 * Files that others replace: certificates are renewed by tools that write them anew, rename over them, or swing a symlink. Their folders
 * are watched, and looked at each minute besides, since inotify says nothing of what it lost (upstream: dynamiccertificates does both).
 */
import { watch, type FSWatcher } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Logger } from '../../../shared/log/logger.ts';

export interface WatchedFilesOptions {
  readonly paths: readonly string[];
  /** The files' contents, in the order of the paths: at the start, and whenever one has changed. What it throws is logged, and the files are tried again. */
  readonly onContents: (contents: readonly Buffer[]) => void;
  /** False: read until it was once right, then never again. */
  readonly reload: boolean;
  readonly logger: Logger;
}

const lookEachMs = 60_000;
/** Until there is something to serve with, looks are cheap and wanted. */
const lookAgainMs = 1000;
/** Two files that belong together are written one after the other. */
const settleMs = 100;

export class WatchedFiles {
  readonly #options: WatchedFilesOptions;
  #watchers: FSWatcher[] = [];
  #timer: NodeJS.Timeout | undefined;
  #seen = '';
  /** Whether what was read last was taken. */
  #good = false;
  #everGood = false;
  #closed = false;
  #complaint = '';
  /** One look at a time: an older one that ends later would bring old contents back. */
  #looking = false;
  #lookOnceMore = false;

  /** Resolves when the files were read once, whether they were right or not. */
  static async start(options: WatchedFilesOptions): Promise<WatchedFiles> {
    const files = new WatchedFiles(options);
    if (options.reload) files.#watch();
    await files.#look();
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

  /** A folder that can't be watched is looked at. */
  #watch(): void {
    for (const folder of new Set(this.#options.paths.map((path) => dirname(path)))) {
      try {
        const watcher = watch(folder, { persistent: false }, () => this.#touched());
        watcher.on('error', () => watcher.close());
        this.#watchers.push(watcher);
      } catch (err) {
        this.#options.logger.debug({ folder, err }, 'folder can not be watched; its files are looked at each minute');
      }
    }
  }

  #touched(): void {
    if (this.#looking) this.#lookOnceMore = true;
    else this.#lookIn(settleMs);
  }

  #lookIn(ms: number): void {
    if (this.#closed) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#look(), ms);
  }

  async #look(): Promise<void> {
    if (this.#looking) {
      this.#lookOnceMore = true;
      return;
    }
    this.#looking = true;
    await this.#read();
    this.#looking = false;
    if (this.#good && !this.#options.reload) return;
    const soon = this.#lookOnceMore;
    this.#lookOnceMore = false;
    if (soon) this.#lookIn(settleMs);
    else this.#lookIn(this.#everGood ? lookEachMs : lookAgainMs);
  }

  async #read(): Promise<void> {
    const { paths, onContents, logger } = this.#options;
    try {
      const contents = await Promise.all(paths.map((path) => readFile(path)));
      if (this.#closed) return;
      const now = contents.map((content) => content.toString('base64')).join(' ');
      if (now !== this.#seen || !this.#good) {
        this.#good = false;
        onContents(contents);
        const changed = this.#seen !== '' && now !== this.#seen;
        this.#seen = now;
        this.#good = true;
        this.#everGood = true;
        this.#complaint = '';
        if (changed) logger.info({ paths }, 'changed files were read');
      }
    } catch (err) {
      this.#good = false;
      this.#complain(err);
    }
  }

  /** Once for each complaint. */
  #complain(err: unknown): void {
    const { paths, logger } = this.#options;
    const message = String(err);
    if (message === this.#complaint) return;
    this.#complaint = message;
    logger.error({ paths, err, lastGoodInUse: this.#everGood }, 'files can not be used; they will be tried again');
  }
}
