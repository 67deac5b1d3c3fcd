/** The execution of the actions of one sync. */
import type { SyncPodTask } from '../../../../shared/contracts/pod-sync/task.ts';
import type { TaskContext } from '../dependencies.ts';
import type { SyncReport } from '../sync-report.ts';
import type { PodAction } from './list-pod-actions.ts';

export interface ActionRun {
  readonly context: TaskContext;
  readonly task: SyncPodTask;
  /** Settles when the pod's volumes are mounted; containers wait for it. */
  readonly volumes: Promise<void>;
  /** Gets all failures, except those of `volumes`. */
  readonly report: SyncReport;
}

/** Executes one action. Resolves with 'stop' when the sync ends there: the next one continues. Rejects with Stopped, or like `volumes`. */
export type Execute<T extends PodAction['type']> = (
  run: ActionRun,
  action: Extract<PodAction, { readonly type: T }>,
) => Promise<'continue' | 'stop'>;
