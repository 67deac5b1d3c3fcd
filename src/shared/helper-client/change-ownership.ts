/**
 * Gives a volume's files to a pod's fsGroup, in the helper process (helper/ownership.ts). A tree of a million files takes about a minute, and one of any size is
 * completed: only a walk that stands still fails.
 */
import type { HelperOperations } from '../contracts/helper.ts';
import type { Clock } from '../time/clock.ts';
import type { HelperClient } from './helper-client.ts';

export interface OwnershipOptions {
  /** Cancels the walk. */
  readonly signal?: AbortSignal | undefined;
  readonly watch?: SlowWalkWatch;
}

export interface SlowWalkWatch {
  readonly clock: Clock;
  /** Called after half a minute with null, and then each minute with the number of files so far. */
  readonly onSlow: (files: number | null) => void;
}

/** Longer than a file takes on any storage that works. */
const standstillMs = 10 * 60_000;
/** Upstream's firstEventReportDuration and progressReportDuration. */
const firstReportMs = 30_000;
const reportMs = 60_000;

/** Rejects as `HelperClient.call` does, with the signal's reason also when the walk was canceled. Files that could not be changed are in the reply. */
export async function changeOwnership(
  helper: Pick<HelperClient, 'call'>,
  request: HelperOperations['changeOwnership']['request'],
  { signal, watch }: OwnershipOptions,
): Promise<HelperOperations['changeOwnership']['reply']> {
  let files = 0;
  const ended = new AbortController();
  if (watch) void reportSlowWalk(watch, () => files, ended.signal);
  try {
    return await helper.call('changeOwnership', request, {
      deadlineMs: standstillMs,
      signal,
      onProgress: (count) => {
        files = count;
      },
    });
  } catch (err) {
    signal?.throwIfAborted();
    throw err;
  } finally {
    ended.abort();
  }
}

/** Never rejects. */
async function reportSlowWalk({ clock, onSlow }: SlowWalkWatch, files: () => number, ended: AbortSignal): Promise<void> {
  const isOver = async (ms: number) =>
    clock.sleep(ms, ended).then(
      () => false,
      () => true,
    );
  if (await isOver(firstReportMs)) return;
  onSlow(null);
  while (!(await isOver(reportMs))) onSlow(files());
}
