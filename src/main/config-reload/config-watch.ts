/**
 * Notices changes of the configuration's files by inotify: writes, the renames of editors, and swapped symlinks (watched-paths.ts). A burst of changes is
 * one notification. The watches are set again before each notification, so that what happens after the files are read is noticed too.
 */
import { watch, type FSWatcher } from 'node:fs';
import { basename, dirname } from 'node:path';
import { messageOf } from '../../shared/errors/kubelet-error.ts';
import type { Logger } from '../../shared/log/logger.ts';
import type { Clock } from '../../shared/time/clock.ts';
import { configurationFolders, haveChangedSince, type ConfigurationPaths, type WatchedNames } from './watched-paths.ts';

export interface ConfigWatchOptions {
  readonly paths: ConfigurationPaths;
  readonly onChange: () => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A change is notified after this time without another one, because programs write a file in several steps. */
const quietMs = 500;
/** The longest delay of a notification while changes go on. */
const maxBurstMs = 5000;

export class ConfigWatch {
  readonly #options: ConfigWatchOptions;
  #watchers: FSWatcher[] = [];
  #cancel: (() => void) | null = null;
  #burstEndsMs = 0;
  #failure = '';
  #isClosed = false;

  constructor(options: ConfigWatchOptions) {
    this.#options = options;
  }

  /**
   * Never rejects: without inotify the configuration is reloaded on SIGHUP only.
   *
   * @param readAtMs wall-clock ms of the last read of the files; a later change is not known yet
   */
  async start(readAtMs: number): Promise<void> {
    const folders = await this.#watchAll();
    if (folders && (await haveChangedSince(folders, readAtMs)) && !this.#isClosed) this.#options.onChange();
  }

  async #watchAll(): Promise<WatchedNames | undefined> {
    const { paths, logger } = this.#options;
    try {
      const folders = await configurationFolders(paths);
      if (this.#isClosed) return undefined;
      this.#replaceWatchers(folders);
      this.#failure = '';
      return folders;
    } catch (err) {
      if (messageOf(err) !== this.#failure)
        logger.warn({ err }, 'Unable to watch the configuration: its changes are applied on SIGHUP only');
      this.#failure = messageOf(err);
      return undefined;
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#cancel?.();
    this.#replaceWatchers(new Map());
  }

  #replaceWatchers(folders: WatchedNames): void {
    const old = this.#watchers;
    this.#watchers = [];
    try {
      for (const [folder, names] of folders) this.#watch(folder, names);
    } finally {
      for (const watcher of old) watcher.close();
    }
  }

  /** If the folder does not exist, watches its parent for the folder's name. */
  #watch(folder: string, names: ReadonlySet<string> | null): void {
    try {
      const watcher = watch(folder, { persistent: false }, (_, name) => {
        // An event about the watched folder itself, such as its removal, has the folder's own name.
        if (name === null || names === null || names.has(name) || name === basename(folder)) this.#onEvent();
      });
      watcher.on('error', () => this.#onEvent());
      this.#watchers.push(watcher);
    } catch (err) {
      const { code } = err as NodeJS.ErrnoException;
      if ((code !== 'ENOENT' && code !== 'ENOTDIR') || dirname(folder) === folder) throw err;
      this.#watch(dirname(folder), new Set([basename(folder)]));
    }
  }

  #onEvent(): void {
    if (this.#isClosed) return;
    const { clock } = this.#options;
    const nowMs = clock.monotonic();
    if (this.#cancel) this.#cancel();
    else this.#burstEndsMs = nowMs + maxBurstMs;
    this.#cancel = clock.after(Math.max(0, Math.min(quietMs, this.#burstEndsMs - nowMs)), () => void this.#notify());
  }

  async #notify(): Promise<void> {
    this.#cancel = null;
    await this.#watchAll();
    if (!this.#isClosed) this.#options.onChange();
  }
}
