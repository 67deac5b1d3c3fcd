/** Removes a dead container from the runtime, with its log. */
import type { RuntimeContainerStatus } from '../../../../shared/contracts/runtime-status.ts';
import { removeContainerLogs } from '../../../../shared/container-logs/remove-container-logs.ts';
import type { TaskContext } from '../dependencies.ts';
import { containerLogLink } from '../container-log-link.ts';

/** Keeps the logs when the containers of a pod are restarted in place. Rejects with the error of the logs or of the runtime. */
export async function removeContainer(
  context: TaskContext,
  { id, name, logPath }: Pick<RuntimeContainerStatus, 'id' | 'name' | 'logPath'>,
  keepLogs: boolean,
): Promise<void> {
  // Logs come first: without the container, nothing records where they are.
  if (!keepLogs) await removeContainerLogs(context.settings.podLogsDir, logPath, containerLogLink(context, name, id));
  await context.runtime.removeContainer(id);
  context.logger.debug({ container: name, containerID: id }, 'container removed');
}
