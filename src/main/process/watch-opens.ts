/**
 * Reports when a file is opened or removed. Node's fs.watch does not report opens, so this uses inotify(7) and polls its descriptor.
 */
import { Inotify, InotifyMask } from '../../shared/linux/inotify.ts';
import type { Logger } from '../../shared/log/logger.ts';
import type { Clock } from '../../shared/time/clock.ts';

const pollMs = 200;

export interface OpenWatchOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called once. */
  readonly onOpen: () => void;
}

/** Starts watching; call the result to stop. Throws when the host has no inotify instance left. */
export function watchOpens(path: string, { clock, logger, onOpen }: OpenWatchOptions): () => void {
  const inotify = new Inotify(path, InotifyMask.open | InotifyMask.deleteSelf);
  let cancel = (): void => {};
  const poll = (): void => {
    try {
      if (inotify.read().length === 0) return arm();
      inotify.close();
      onOpen();
    } catch (err) {
      logger.error({ err, path }, 'The lock file can no longer be watched');
    }
  };
  const arm = (): void => {
    cancel = clock.after(pollMs, poll);
  };
  arm();
  return () => {
    cancel();
    inotify.close();
  };
}
