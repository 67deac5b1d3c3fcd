/** Makes the pod's sandbox (upstream kuberuntime_sandbox.go createPodSandbox), or takes over the one that a lost task made. */
import { mkdir } from 'node:fs/promises';
import { CriError } from '../../../shared/cri/client.ts';
import type { PodSandboxConfig } from '../../../shared/cri/generated/cri-v1.ts';
import { KubeletError } from '../../../shared/errors/kubelet-error.ts';
import type { Pod } from '../../../shared/kubernetes/api.ts';
import type { PodUID, SandboxID } from '../../../shared/kubernetes/ids.ts';
import type { TaskContext } from '../dependencies.ts';

/** Rejects with CriError, Stopped, or the error of the log folder. */
export async function createSandbox(context: TaskContext, pod: Pod, config: PodSandboxConfig): Promise<SandboxID> {
  const runtimeHandler = runtimeHandlerOf(pod);
  await mkdir(config.logDirectory, { recursive: true, mode: 0o755 });
  return context.line.withPermit('sandbox', async () => {
    try {
      return await context.runtime.runPodSandbox(config, runtimeHandler);
    } catch (err) {
      const adopted = await adopt(context, config, err);
      return adopted ?? (await context.runtime.runPodSandbox(config, runtimeHandler));
    }
  });
}

/**
 * The runtime keeps a name for each attempt: that it refuses one may mean that a task which was lost on its way had made the sandbox
 * already. A ready one is taken over. One that is not ready is removed (null: try again). Else the error stands.
 */
async function adopt({ runtime, about, logger }: TaskContext, config: PodSandboxConfig, err: unknown): Promise<SandboxID | null> {
  if (!(err instanceof CriError)) throw err;
  const attempt = config.metadata?.attempt ?? 0;
  const found = await runtime.findSandboxes(about.uid as PodUID).catch(() => []);
  const same = found.find((sandbox) => sandbox.attempt === attempt);
  if (!same) throw err;
  if (same.ready) {
    logger.info({ sandboxID: same.id, attempt }, 'took over a sandbox that was there already');
    return same.id;
  }
  logger.info({ sandboxID: same.id, attempt }, 'removing a sandbox that is in the way');
  await runtime.stopPodSandbox(same.id);
  await runtime.removePodSandbox(same.id);
  return null;
}

/** Runtime classes are API objects. */
export function runtimeHandlerOf({ spec: { runtimeClassName } }: Pod): string {
  if (!runtimeClassName) return '';
  throw new KubeletError('CreatePodSandboxError', `RuntimeClass "${runtimeClassName}" not found: there is no API server to ask for it`);
}
