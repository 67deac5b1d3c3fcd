/**
 * Wakes the file source when something happens where its manifests are. inotify says nothing of an overflow and its watch dies with
 * the folder: the source scans on its own clock as well, and asks after each scan that the watch be on what is there now.
 */
import { watch, type FSWatcher } from 'node:fs';
import type { Logger } from '../../shared/log/logger.ts';

export class FolderWatch {
  readonly #wake: () => void;
  readonly #logger: Logger;
  #watcher: FSWatcher | null = null;
  #identity = '';
  #failed = false;

  constructor(wake: () => void, logger: Logger) {
    this.#wake = wake;
    this.#logger = logger;
  }

  /** Watches the folder, unless it is watched already; `identity` tells one folder of that name from the next. */
  ensure(folder: string, identity: string): void {
    if (this.#watcher && this.#identity === identity) return;
    this.close();
    try {
      const watcher = watch(folder, () => this.#wake());
      watcher.on('error', (err) => this.#fail(folder, err));
      this.#watcher = watcher;
      this.#identity = identity;
      this.#failed = false;
      // What came between the scan and the watch is seen by one more scan.
      this.#wake();
    } catch (err) {
      this.#fail(folder, err);
    }
  }

  close(): void {
    this.#watcher?.close();
    this.#watcher = null;
  }

  #fail(folder: string, err: unknown): void {
    this.close();
    if (!this.#failed)
      this.#logger.warn({ err, path: folder }, 'Unable to watch for manifests, changes are found by the periodic scan only');
    this.#failed = true;
  }
}
