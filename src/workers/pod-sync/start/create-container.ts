/** Creates a container, unless a lost task has done so: the runtime keeps one name for each instance of a container. */
import { CriError } from '../../../shared/cri/cri-error.ts';
import type { ContainerConfig, PodSandboxConfig } from '../../../shared/cri/generated/cri-v1.ts';
import type { ContainerID, SandboxID } from '../../../shared/kubernetes/ids.ts';
import type { TaskContext } from '../dependencies.ts';

export interface CreatedContainer {
  readonly id: ContainerID;
  /** It was there, and was started already. */
  readonly hasRun: boolean;
}

/** Rejects with CriError. */
export async function createContainer(
  { runtime, logger }: Pick<TaskContext, 'runtime' | 'logger'>,
  sandboxID: SandboxID,
  config: ContainerConfig,
  sandboxConfig: PodSandboxConfig,
): Promise<CreatedContainer> {
  const create = async () => ({ id: await runtime.createContainer(sandboxID, config, sandboxConfig), hasRun: false });
  try {
    return await create();
  } catch (err) {
    if (!(err instanceof CriError)) throw err;
    const { name = '', attempt = 0 } = config.metadata ?? {};
    const found = await runtime.findContainers(sandboxID, name).catch(() => []);
    const same = found.find((container) => container.attempt === attempt);
    if (!same) throw err;
    if (same.state !== 'created') {
      logger.info({ container: name, containerID: same.id, state: same.state }, 'the container was started already');
      return { id: same.id, hasRun: true };
    }
    // Made from a config that may be outdated, and never started: not worth keeping.
    logger.info({ container: name, containerID: same.id }, 'removing a container that was created and not started');
    await runtime.removeContainer(same.id);
    return create();
  }
}
