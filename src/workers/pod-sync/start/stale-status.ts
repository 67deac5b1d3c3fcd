/** What a sync does when its status is behind the runtime. */
import type { TaskContext } from '../dependencies.ts';
import type { SyncReport } from '../sync-report.ts';

/**
 * The runtime has more of the pod than the task was told: a task before it was lost on its way with its thread. Nothing is decided on
 * such a status: two instances of one container must never exist. Main looks again, and sends the next task.
 */
export class StaleStatusError extends Error {
  override readonly name = 'StaleStatus';
  constructor(what: string) {
    super(`the task was sent with a status that is behind: ${what}`);
  }
}

/** When main is to try again, unless its look wakes it sooner: a status that stays behind must not make a busy loop. */
const retryMs = 1000;

/** Whether the sync ends here for that reason. Not a failure: main looks again. */
export function reportStaleStatus({ clock, logger }: TaskContext, err: unknown, report: SyncReport): boolean {
  if (!(err instanceof StaleStatusError)) return false;
  logger.info({ why: err.message }, 'sync ends early');
  report.mayHaveMadeMore();
  report.retryAt(clock.now() + retryMs);
  return true;
}
