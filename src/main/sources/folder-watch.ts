/**
 * Wakes the file source when something happens where its manifests are, and says which files were removed, also those that are there
 * again. inotify says nothing of an overflow and its watch dies with the folder: the source scans on its own clock as well, and asks after
 * each scan that the watch be on what is there now.
 */
import { watch, type FSWatcher } from 'node:fs';
import { Inotify, InotifyMask } from '../../shared/linux/inotify.ts';
import type { Logger } from '../../shared/log/logger.ts';

export class FolderWatch {
  readonly #wake: () => void;
  readonly #logger: Logger;
  #watcher: FSWatcher | null = null;
  /** Node's watch wakes, and calls a removal and a creation the same. */
  #removals: Inotify | null = null;
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
      this.#removals = this.#watchRemovals(folder);
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

  /** Names of the files that were removed or renamed away since the last call. A file that another one replaced by a rename is none of them. */
  takeRemoved(): Set<string> {
    return new Set(this.#removals?.read().map(({ name }) => name));
  }

  /** inotify instances are few (fs.inotify.max_user_instances): without one, a file that is soon there again was never gone. */
  #watchRemovals(folder: string): Inotify | null {
    try {
      return new Inotify(folder, InotifyMask.delete | InotifyMask.movedFrom);
    } catch (err) {
      this.#logger.warn(
        { err, path: folder },
        'Unable to watch for removed manifests, one that is soon written again does not restart its pod',
      );
      return null;
    }
  }

  close(): void {
    this.#watcher?.close();
    this.#watcher = null;
    this.#removals?.close();
    this.#removals = null;
  }

  #fail(folder: string, err: unknown): void {
    this.close();
    if (!this.#failed)
      this.#logger.warn({ err, path: folder }, 'Unable to watch for manifests, changes are found by the periodic scan only');
    this.#failed = true;
  }
}
