/** Puts changed resources of running containers and of the pod into force (in-place resize). */
import type { PodActions } from '../compute-pod-actions/index.ts';
import { executeResize } from '../resize/index.ts';
import { podActionType } from './pod-action-type.ts';

export const resizeAction = podActionType({
  type: 'Resize',
  waitsForVolumes: false,
  list: ({ resize, killPod, sandboxID }: Pick<PodActions, 'resize' | 'killPod' | 'sandboxID'>) =>
    resize && !killPod && sandboxID !== undefined ? [{ resize, sandboxID }] : [],
  execute: async ({ context, task, report }, { resize, sandboxID }) => {
    report.changedRuntime = true;
    report.resizeError = await executeResize(context, { task, actions: resize, sandboxID, hostInfo: await context.hostInfo.read() });
    return 'continue';
  },
});
