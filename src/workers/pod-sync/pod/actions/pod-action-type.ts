/** The contract of a type of action. The types are a table (pod-action-types.ts): a new one has a file here and a row there. */
import type { SyncPodTask } from '../../../../shared/contracts/pod-sync/task.ts';
import type { PodActions } from '../compute-pod-actions/index.ts';
import type { ActionRun } from './action-run.ts';

/** `stop`: the sync ends there, and the next one continues. */
export type ActionEnd = 'continue' | 'stop';

/** `Reads`: the members of PodActions by which the type decides. `Action`: what one action needs to know. */
interface PodActionDefinition<Reads extends keyof PodActions, Action> {
  readonly type: string;
  /** False: when a pod is resized, the action does not wait until its volumes are mounted. */
  readonly waitsForVolumes: boolean;
  /** Returns what a pod needs now, one entry per action, in their order. Pure. Called more than once in a sync. */
  list(actions: Pick<PodActions, Reads>, task: SyncPodTask): readonly Action[];
  /** Idempotent: a task that was lost with its thread is sent again. The report gets the failures. Rejects with Stopped, or like the run's `volumes`. */
  execute(run: ActionRun, action: Action): Promise<ActionEnd>;
}

/** One action that a pod needs. */
export interface PodAction {
  readonly type: string;
  readonly waitsForVolumes: boolean;
  execute(run: ActionRun): Promise<ActionEnd>;
}

export interface PodActionType<Reads extends keyof PodActions> {
  list(actions: Pick<PodActions, Reads>, task: SyncPodTask): PodAction[];
}

export function podActionType<Action, Reads extends keyof PodActions = never>(
  definition: PodActionDefinition<Reads, Action>,
): PodActionType<Reads> {
  const { type, waitsForVolumes } = definition;
  const toPodAction = (action: Action): PodAction => ({ type, waitsForVolumes, execute: (run) => definition.execute(run, action) });
  return { list: (actions, task) => definition.list(actions, task).map(toPodAction) };
}
