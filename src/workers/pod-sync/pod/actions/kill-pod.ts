/** Stops all containers of a pod, then its sandboxes. */
import type { PodActions } from '../compute-pod-actions/index.ts';
import { killPod } from '../kill/index.ts';
import { podActionType } from './pod-action-type.ts';
import { removeInitContainers } from './prune-init-containers.ts';

export const killPodAction = podActionType({
  type: 'KillPod',
  waitsForVolumes: true,
  list: (actions: Pick<PodActions, 'killPod' | 'createSandbox'>) => (actions.killPod ? [actions] : []),
  execute: async ({ context, task: { pod, status }, report }, { createSandbox }) => {
    if (!status) return 'continue';
    if (status.sandboxes.length > 0 || status.containers.length > 0) report.changedRuntime = true;
    const failures = await killPod(context, status, null);
    for (const failure of failures) report.fail(failure);
    if (failures.length > 0) return 'stop';
    if (!createSandbox) return 'continue';
    // In a new sandbox the init containers run again. The old instances would prove that they have run already.
    const init = new Set(pod.spec.initContainers?.map(({ name }) => name));
    await removeInitContainers(
      context,
      status.containers.filter(({ name }) => init.has(name)),
    );
    return 'continue';
  },
});
