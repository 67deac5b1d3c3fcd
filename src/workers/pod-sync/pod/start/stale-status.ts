/** Ends a sync whose runtime status is older than the runtime's state. */
import type { TaskContext } from '../dependencies.ts';
import type { SyncReport } from '../sync-report.ts';

/**
 * The runtime has objects of the pod that the task's status lacks, because an earlier task was lost with its thread. Nothing may be decided
 * from such a status: two instances of one container must never exist. Main inspects the pod again and sends the next task.
 */
export class StaleStatusError extends Error {
  override readonly name = 'StaleStatus';
  constructor(description: string) {
    super(`the task was sent with a status that is behind: ${description}`);
  }
}

/** The delay of the next sync, unless main's inspection of the pod triggers it sooner. A status that stays stale must not cause a busy loop. */
const retryMs = 1000;

/** Returns whether `err` is a StaleStatusError, and then makes the report request an inspection from main. The sync does not fail. */
export function reportStaleStatus({ clock, logger }: TaskContext, err: unknown, report: SyncReport): boolean {
  if (!(err instanceof StaleStatusError)) return false;
  logger.info({ why: err.message }, 'sync ends early');
  report.forgetCreated();
  report.retryAt(clock.now() + retryMs);
  return true;
}
