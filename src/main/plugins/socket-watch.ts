/**
 * Reports the sockets below the registration folder, at once when something changes. Neither the loss of events nor the end of a watch with its folder is reported, so
 * the folder is also scanned periodically.
 */
import { watch, type FSWatcher } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { messageOf } from '../../shared/errors/kubelet-error.ts';
import { Wakeup } from '../../shared/concurrency/wakeup.ts';
import type { Logger } from '../../shared/log/logger.ts';
import type { Clock } from '../../shared/time/clock.ts';
import { findSockets } from './find-sockets.ts';

export interface SocketWatchOptions {
  readonly folder: string;
  /** Called with all sockets after each scan. */
  readonly onSockets: (sockets: ReadonlyMap<string, string>) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

const scanPeriodMs = 30_000;
/** A folder that changes all the time is not scanned more often. */
const minScanPeriodMs = 20;

export class SocketWatch {
  readonly #options: SocketWatchOptions;
  readonly #wakeup: Wakeup;
  readonly #stop = new AbortController();
  readonly #watchers = new Map<string, FSWatcher>();
  readonly #running: Promise<void>;

  constructor(options: SocketWatchOptions) {
    this.#options = options;
    this.#wakeup = new Wakeup(options.clock);
    this.#running = this.#run(this.#stop.signal);
  }

  async close(): Promise<void> {
    this.#stop.abort();
    for (const watcher of this.#watchers.values()) watcher.close();
    this.#watchers.clear();
    await this.#running;
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { folder, onSockets, clock, logger } = this.#options;
    await mkdir(folder, { recursive: true, mode: 0o755 }).catch((err: unknown) =>
      logger.warn({ path: folder, err: messageOf(err) }, 'Could not make the folder for sockets of plugins'),
    );
    while (!signal.aborted) {
      const { sockets, folders } = await findSockets(folder);
      if (signal.aborted) return;
      const isNew = this.#watchFolders(folders);
      onSockets(sockets);
      // A socket may have come between the scan and the watch.
      if (isNew) this.#wakeup.wake();
      await clock.sleep(minScanPeriodMs, signal).catch(() => {});
      await this.#wakeup.next(scanPeriodMs, signal);
    }
  }

  /** Returns whether a folder is watched from now on. */
  #watchFolders(folders: readonly string[]): boolean {
    for (const [path, watcher] of this.#watchers) {
      if (folders.includes(path)) continue;
      watcher.close();
      this.#watchers.delete(path);
    }
    let isNew = false;
    for (const path of folders) {
      if (this.#watchers.has(path)) continue;
      try {
        const watcher = watch(path, () => this.#wakeup.wake());
        watcher.on('error', () => {
          watcher.close();
          this.#watchers.delete(path);
        });
        this.#watchers.set(path, watcher);
        isNew = true;
      } catch (err) {
        this.#options.logger.debug({ path, err: messageOf(err) }, 'Could not watch a folder of sockets; it is scanned periodically');
      }
    }
    return isNew;
  }
}
