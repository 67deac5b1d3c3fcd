/** The execution of the actions of one sync. */
import type { SyncPodTask } from '../../../../shared/contracts/pod-sync/task.ts';
import type { TaskContext } from '../dependencies.ts';
import type { SyncReport } from '../sync-report.ts';

export interface ActionRun {
  readonly context: TaskContext;
  readonly task: SyncPodTask;
  /** Settles when the pod's volumes are mounted; containers wait for it. */
  readonly volumes: Promise<void>;
  /** Gets all failures, except those of `volumes`. */
  readonly report: SyncReport;
}
