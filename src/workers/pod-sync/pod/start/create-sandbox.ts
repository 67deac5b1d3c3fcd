/** Creates the pod's sandbox (upstream kuberuntime_sandbox.go createPodSandbox), unless a lost task has created it already. */
import { setImmediate as nextIteration } from 'node:timers/promises';
import { mkdir } from '../blocking-fs.ts';
import { CriError } from '../../../../shared/cri/cri-error.ts';
import type { PodSandboxConfig } from '../../../../shared/cri/generated/cri-v1.ts';
import type { Pod } from '../../../../shared/kubernetes/api.ts';
import type { PodUID, SandboxID } from '../../../../shared/kubernetes/ids.ts';
import { runPodSandboxDuration, runPodSandboxErrors } from '../../../../shared/metrics/definitions/pod-sync.ts';
import type { TaskContext } from '../dependencies.ts';
import { createCgroup } from './ensure-cgroup.ts';
import { runtimeHandlerOf } from './runtime-handler.ts';
import { StaleStatusError } from './stale-status.ts';

/**
 * Also creates the pod's cgroup and its log folder. Rejects with CriError, StaleStatusError, Stopped, or the error of the cgroup or folder.
 * @param isContainerReady whether the pod's first container can start right away: then the container gets the sandbox's start permit
 */
export async function createSandbox(
  context: TaskContext,
  pod: Pod,
  config: PodSandboxConfig,
  isContainerReady: () => boolean,
): Promise<SandboxID> {
  // All of this happens under the permit: preparing a hundred pods at once would take CPU from the runtime that starts the first of them.
  const create = async () => {
    const running = runAfterRemovingLeftover(context, config);
    running.catch(() => {});
    try {
      // Waits one iteration of the event loop, so that the request is sent first: the runtime sets up the network before it needs the cgroup. If the cgroup
      // is missing then, the runtime creates it without its resource values.
      await nextIteration();
      await createCgroup(context, pod);
      await mkdir(config.logDirectory, { recursive: true, mode: 0o755 });
    } catch (err) {
      await running.catch(() => {});
      throw err;
    }
    return running;
  };
  return context.channel.withPermit('sandbox', create, isContainerReady);
}

async function runAfterRemovingLeftover(context: TaskContext, config: PodSandboxConfig): Promise<SandboxID> {
  const runtimeHandler = runtimeHandlerOf(context);
  try {
    return await runPodSandbox(context, config, runtimeHandler);
  } catch (err) {
    context.channel.podEnds.throwIfAborted();
    await removeLeftover(context, config, err);
    return runPodSandbox(context, config, runtimeHandler);
  }
}

async function runPodSandbox(
  { runtime, clock, channel }: TaskContext,
  config: PodSandboxConfig,
  runtimeHandler: string,
): Promise<SandboxID> {
  const startedAtMs = clock.monotonic();
  try {
    return await runtime.runPodSandbox(config, runtimeHandler, channel.podEnds);
  } catch (err) {
    runPodSandboxErrors.inc({ runtime_handler: runtimeHandler });
    throw err;
  } finally {
    runPodSandboxDuration.observe((clock.monotonic() - startedAtMs) / 1000, { runtime_handler: runtimeHandler });
  }
}

/**
 * The runtime reserves a name for each attempt. When it refuses a name, a lost task may have created the sandbox already. A sandbox that is
 * not ready is removed. A ready one is kept, since it may have containers that this task does not know: rejects with StaleStatusError.
 */
async function removeLeftover({ runtime, identity, logger }: TaskContext, config: PodSandboxConfig, err: unknown): Promise<void> {
  if (!(err instanceof CriError)) throw err;
  const attempt = config.metadata?.attempt ?? 0;
  const existingSandboxes = await runtime.findSandboxes(identity.uid as PodUID).catch(() => []);
  const existing = existingSandboxes.find((sandbox) => sandbox.attempt === attempt);
  if (!existing) throw err;
  if (existing.ready) throw new StaleStatusError(`its sandbox ${existing.id} exists already`);
  logger.info({ sandboxID: existing.id, attempt }, 'removing a sandbox that is in the way');
  await runtime.stopPodSandbox(existing.id);
  await runtime.removePodSandbox(existing.id);
}
