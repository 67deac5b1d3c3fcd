/**
 * Creates a container, unless a lost task has created it already. The runtime reserves one name for each instance of a container, and
 * refuses a second container of that name.
 */
import { CriError } from '../../../../shared/cri/cri-error.ts';
import type { ContainerConfig, PodSandboxConfig } from '../../../../shared/cri/generated/cri-v1.ts';
import type { ContainerID, SandboxID } from '../../../../shared/kubernetes/ids.ts';
import type { TaskContext } from '../dependencies.ts';

export interface CreateContainerResult {
  readonly id: ContainerID;
  /** True when a lost task has created and started the container. */
  readonly hasRun: boolean;
  /** True when that container still runs. */
  readonly isRunning: boolean;
}

/** Rejects with CriError. */
export async function createContainer(
  { runtime, logger }: Pick<TaskContext, 'runtime' | 'logger'>,
  sandboxID: SandboxID,
  config: ContainerConfig,
  sandboxConfig: PodSandboxConfig,
): Promise<CreateContainerResult> {
  const create = async () => ({ id: await runtime.createContainer(sandboxID, config, sandboxConfig), hasRun: false, isRunning: false });
  try {
    return await create();
  } catch (err) {
    if (!(err instanceof CriError)) throw err;
    const { name = '', attempt = 0 } = config.metadata ?? {};
    const existingContainers = await runtime.findContainers(sandboxID, name).catch(() => []);
    const existing = existingContainers.find((container) => container.attempt === attempt);
    if (!existing) throw err;
    if (existing.state !== 'created') {
      logger.info({ container: name, containerID: existing.id, state: existing.state }, 'the container was started already');
      return { id: existing.id, hasRun: true, isRunning: existing.state === 'running' };
    }
    // Its config may be outdated, and it has never run: replace it.
    logger.info({ container: name, containerID: existing.id }, 'removing a container that was created and not started');
    await runtime.removeContainer(existing.id);
    return create();
  }
}
