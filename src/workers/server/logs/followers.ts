/**
 * Wakes the followers of container logs: on a change in the log's folder (inotify, one watch per folder), at the end of the container, and
 * periodically, because inotify may miss changes. One timer serves all followers.
 */
import { watch, type FSWatcher } from 'node:fs';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import type { ContainerID } from '../../../shared/kubernetes/ids.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import { createEndedCheck, type ContainerList } from './ended-containers.ts';

/** Period of the check for ended containers. */
const tickMs = 250;
/** Upstream's logForceCheckPeriod. */
const rescanMs = 1000;
/** A container that writes without a pause causes 100,000 changes a second, each of which would wake all followers of its log. */
const minChangeMs = 10;

/** `closed`: the client has disconnected or the server is closing. */
export type FollowEvent = 'changed' | 'ended' | 'rescan' | 'closed';

export interface Follower {
  /** Resolves with the next event. A change between two calls is not lost. */
  next(): Promise<FollowEvent>;
  /** Watches another folder from now on. */
  move(directory: string): void;
  close(): void;
}

interface FollowerState {
  readonly containerID: ContainerID;
  /** When the container existed, in monotonic ms (ended-containers.ts). */
  readonly knownAtMs: number;
  /** The log has changed since the last call of `next`. */
  changed: boolean;
  /** Resolves the pending call of `next`. Null: none is pending. */
  wake: ((event: FollowEvent) => void) | null;
  /** Ticks until the log is read again without an event. */
  ticksLeft: number;
}

interface WatchedFolder {
  watcher: FSWatcher | null;
  readonly followers: Set<FollowerState>;
  /** Runs for `minChangeMs` after followers were woken. */
  pause: NodeJS.Timeout | null;
  changedInPause: boolean;
}

export interface FollowersDependencies {
  readonly containers: ContainerList;
  readonly monotonicMs: () => number;
  readonly logger: Logger;
}

export class Followers {
  readonly #deps: FollowersDependencies;
  readonly #states = new Set<FollowerState>();
  readonly #folders = new Map<string, WatchedFolder>();
  #timer: NodeJS.Timeout | null = null;

  constructor(dependencies: FollowersDependencies) {
    this.#deps = dependencies;
  }

  get size(): number {
    return this.#states.size;
  }

  get watchedFolders(): number {
    return this.#folders.size;
  }

  add(containerID: ContainerID, directory: string): Follower {
    const follower: FollowerState = { containerID, knownAtMs: this.#deps.monotonicMs(), changed: false, wake: null, ticksLeft: 0 };
    let folder = directory;
    let closed = false;
    this.#states.add(follower);
    this.#watch(folder, follower);
    this.#timer ??= setInterval(() => this.#tick(), tickMs);
    return {
      next: () => this.#next(follower, closed),
      move: (directory) => {
        if (closed || directory === folder) return;
        this.#unwatch(folder, follower);
        folder = directory;
        this.#watch(folder, follower);
      },
      close: () => {
        if (closed) return;
        closed = true;
        this.#unwatch(folder, follower);
        this.#remove(follower);
        wake(follower, 'closed');
      },
    };
  }

  #next(follower: FollowerState, closed: boolean): Promise<FollowEvent> {
    if (closed) return Promise.resolve('closed');
    if (follower.changed) {
      follower.changed = false;
      return Promise.resolve('changed');
    }
    follower.ticksLeft = rescanMs / tickMs;
    return new Promise((resolve) => (follower.wake = resolve));
  }

  #tick(): void {
    const hasEnded = createEndedCheck(this.#deps.containers);
    for (const follower of this.#states) {
      if (!follower.wake) continue;
      follower.ticksLeft -= 1;
      if (hasEnded(follower.containerID, follower.knownAtMs)) wake(follower, 'ended');
      else if (follower.ticksLeft <= 0) wake(follower, 'rescan');
    }
  }

  #remove(follower: FollowerState): void {
    this.#states.delete(follower);
    if (this.#states.size > 0 || !this.#timer) return;
    clearInterval(this.#timer);
    this.#timer = null;
  }

  #watch(directory: string, follower: FollowerState): void {
    let folder = this.#folders.get(directory);
    if (!folder) {
      folder = { watcher: null, followers: new Set(), pause: null, changedInPause: false };
      this.#folders.set(directory, folder);
      folder.watcher = this.#startWatch(directory, folder);
    }
    folder.followers.add(follower);
  }

  /** Without a watch (inotify limit reached, folder removed) the rescan finds changes up to a second later. */
  #startWatch(directory: string, folder: WatchedFolder): FSWatcher | null {
    const failed = (err: unknown) => {
      this.#deps.logger.warn({ directory, reason: messageOf(err) }, 'a log folder can not be watched; its logs are checked every second');
    };
    try {
      const watcher = watch(directory, { persistent: false }, () => onChange(folder));
      watcher.on('error', (err) => {
        failed(err);
        watcher.close();
      });
      return watcher;
    } catch (err) {
      failed(err);
      return null;
    }
  }

  #unwatch(directory: string, follower: FollowerState): void {
    const folder = this.#folders.get(directory);
    if (!folder) return;
    folder.followers.delete(follower);
    if (folder.followers.size > 0) return;
    folder.watcher?.close();
    if (folder.pause) clearTimeout(folder.pause);
    this.#folders.delete(directory);
  }
}

/** Wakes the followers at once, and then again after a pause if there were more changes. */
function onChange(folder: WatchedFolder): void {
  if (folder.pause) {
    folder.changedInPause = true;
    return;
  }
  for (const follower of folder.followers) notify(follower);
  folder.pause = setTimeout(() => {
    folder.pause = null;
    if (!folder.changedInPause) return;
    folder.changedInPause = false;
    onChange(folder);
  }, minChangeMs);
}

function notify(follower: FollowerState): void {
  if (follower.wake) wake(follower, 'changed');
  else follower.changed = true;
}

function wake(follower: FollowerState, event: FollowEvent): void {
  const { wake } = follower;
  follower.wake = null;
  wake?.(event);
}
