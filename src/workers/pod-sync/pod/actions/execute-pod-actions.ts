/** Executes the actions that a pod needs, one after the other. */
import type { SyncPodTask } from '../../../../shared/contracts/pod-sync/task.ts';
import type { RuntimeContainerStatus } from '../../../../shared/contracts/runtime-status.ts';
import type { ContainerID } from '../../../../shared/kubernetes/ids.ts';
import type { PodActions } from '../compute-pod-actions/index.ts';
import { reportStaleStatus, StaleStatusError } from '../start/index.ts';
import type { ActionRun } from './action-run.ts';
import { listPodActions } from './list-pod-actions.ts';

/** Rejects with Stopped, or with the rejection of the run's volumes. The report gets all other failures. */
export async function executePodActions(run: ActionRun, actions: PodActions): Promise<void> {
  const { context, task, report } = run;
  const { channel, events } = context;
  if (actions.createSandbox && actions.sandboxID !== undefined) {
    events.onPod('Normal', 'SandboxChanged', 'Pod sandbox changed, it will be killed and re-created.');
  }
  const restarted = containersToRestart(task.status, actions);
  if (restarted.length > 0) {
    report.changedRuntime = true;
    if (!(await channel.beginRestart(restarted))) {
      reportStaleStatus(context, new StaleStatusError('a container to restart has ended by itself'), report);
      return;
    }
  }
  for (const action of listPodActions(actions, task)) if ((await action.execute(run)) === 'stop') return;
}

/** Returns the running containers that the actions stop and then start again under the same name. */
function containersToRestart(
  status: SyncPodTask['status'],
  actions: Pick<PodActions, 'killPod' | 'containersToKill' | 'initContainersToStart' | 'containersToStart'>,
): ContainerID[] {
  const starts = new Set([...actions.initContainersToStart, ...actions.containersToStart]);
  const kills = new Set(actions.containersToKill.map(({ id }) => id));
  const isStopped = ({ id }: RuntimeContainerStatus) => actions.killPod || kills.has(id);
  const containers = status?.containers.filter((one) => one.state === 'running' && starts.has(one.name) && isStopped(one)) ?? [];
  return containers.map(({ id }) => id);
}
