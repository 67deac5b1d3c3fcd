/** Brings changed resources of running containers and of the pod into force. */
import { executeResize } from '../resize/index.ts';
import type { Execute } from './action-run.ts';

export const executeResizeAction: Execute<'Resize'> = async ({ context, task, report }, { resize, sandboxID }) => {
  report.changedRuntime = true;
  report.resizeError = await executeResize(context, { task, actions: resize, sandboxID, hostInfo: await context.hostInfo.read() });
  return 'continue';
};
