/**
 * Wakes the file source when its folder changes, and reports removed files, including files that were written again since. Neither the
 * loss of inotify events nor the end of a watch with its folder is reported: the source scans periodically as well, and calls `ensure`
 * in each scan.
 */
import { watch, type FSWatcher } from 'node:fs';
import { Inotify, InotifyMask } from '../../shared/linux/inotify.ts';
import type { Logger } from '../../shared/log/logger.ts';

export class FolderWatch {
  readonly #wake: () => void;
  readonly #logger: Logger;
  #watcher: FSWatcher | null = null;
  /** Node's watch reports removals and creations as the same event. */
  #removals: Inotify | null = null;
  #identity = '';
  #failed = false;

  constructor(wake: () => void, logger: Logger) {
    this.#wake = wake;
    this.#logger = logger;
  }

  /** Watches the folder, unless the watch exists. `identity` differs when another folder has replaced the folder. */
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
      // Another scan finds the changes between the scan and the watch.
      this.#wake();
    } catch (err) {
      this.#fail(folder, err);
    }
  }

  /** Returns the names of files that were removed or renamed since the last call. A file that a rename replaced is not among them. */
  takeRemoved(): Set<string> {
    return new Set(this.#removals?.read().map(({ name }) => name));
  }

  /** Null when the host has no inotify instance left (fs.inotify.max_user_instances): quick recreations are not detected then. */
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
