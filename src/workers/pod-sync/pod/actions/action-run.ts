/** What the actions of one sync share while they are executed. */
import type { SyncPodTask } from '../../../../shared/contracts/pod-sync/task.ts';
import type { TaskContext } from '../dependencies.ts';
import type { SyncReport } from '../sync-report.ts';

export interface ActionRun {
  readonly context: TaskContext;
  readonly task: SyncPodTask;
  /** Resolves when the pod's volumes are mounted; containers are started after that. Rejects when a volume cannot be mounted. */
  readonly volumes: Promise<void>;
  /** Gets all failures, except those of `volumes`. */
  readonly report: SyncReport;
}
