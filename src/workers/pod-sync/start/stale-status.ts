/**
 * The runtime has more of the pod than the task was told: a task before it was lost on its way with its thread. Nothing is decided on
 * such a status: two instances of one container must never exist. Main looks again, and sends the next task.
 */
export class StaleStatus extends Error {
  override readonly name = 'StaleStatus';
  constructor(what: string) {
    super(`the task was sent with a status that is behind: ${what}`);
  }
}

/** When main is to try again, unless its look wakes it sooner: a status that stays behind must not make a busy loop. */
export const staleStatusRetryMs = 1000;
