/**
 * --lock-file: only one kubelet runs with the file at a time; the next one waits (upstream: pkg/util/flock). With
 * --exit-on-lock-contention the running kubelet stops when another process opens the file, so that a new kubelet can replace one that
 * only bootstraps.
 */
import { closeSync, openSync } from 'node:fs';
import { messageOf } from '../../shared/errors/kubelet-error.ts';
import { flock, LockOperation, type SystemCallError } from '../../shared/linux/native.ts';
import type { Logger } from '../../shared/log/logger.ts';
import { systemClock, type Clock } from '../../shared/time/clock.ts';
import { watchOpens } from './watch-opens.ts';

export interface LockFileOptions {
  /** Empty when no lock is wanted. */
  readonly path: string;
  readonly exitOnContention: boolean;
  readonly signal: AbortSignal;
  readonly logger: Logger;
  /** Called once when another process opens or removes the file. */
  readonly onContention: (reason: string) => void;
  readonly clock?: Clock;
}

export interface LockFile {
  release(): void;
}

/** The lock is polled: a blocking flock would occupy one of libuv's few threads until the other process ends. */
const retryMs = 250;

/** Resolves when the lock is acquired. Rejects when the file cannot be opened, or when the signal aborts the wait. */
export async function acquireLockFile(options: LockFileOptions): Promise<LockFile> {
  const { path, exitOnContention, signal, logger, onContention, clock = systemClock } = options;
  if (exitOnContention && path === '') throw new Error('cannot exit on lock file contention: no lock file specified');
  if (path === '') return { release: () => {} };
  logger.info({ path }, 'Acquiring file lock');
  const fd = open(path);
  try {
    let waits = false;
    while (!tryLock(fd, path)) {
      if (!waits) logger.warn({ path }, 'Another process holds the lock, waiting for it');
      waits = true;
      await clock.sleep(retryMs * (0.75 + Math.random() / 2), signal);
    }
    if (!exitOnContention) return { release: () => closeSync(fd) };
    logger.info({ path }, 'Watching the lock file');
    const stopWatching = watchOpens(path, { clock, logger, onOpen: () => onContention('another process opened the lock file') });
    return {
      release: () => {
        stopWatching();
        closeSync(fd);
      },
    };
  } catch (err) {
    closeSync(fd);
    throw err;
  }
}

function open(path: string): number {
  try {
    return openSync(path, 'a+', 0o600);
  } catch (err) {
    throw new Error(`unable to acquire file lock on "${path}": ${messageOf(err)}`, { cause: err });
  }
}

function tryLock(fd: number, path: string): boolean {
  try {
    flock(fd, LockOperation.exclusive | LockOperation.nonBlocking);
    return true;
  } catch (err) {
    if ((err as SystemCallError).code === 'EAGAIN') return false;
    throw new Error(`unable to acquire file lock on "${path}": ${messageOf(err)}`, { cause: err });
  }
}
