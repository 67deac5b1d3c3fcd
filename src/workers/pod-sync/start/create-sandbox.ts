/** Makes the pod's sandbox (upstream kuberuntime_sandbox.go createPodSandbox), unless a lost task has made it. */
import { setImmediate as nextIteration } from 'node:timers/promises';
import { mkdir } from '../blocking-fs.ts';
import { CriError } from '../../../shared/cri/cri-error.ts';
import type { PodSandboxConfig } from '../../../shared/cri/generated/cri-v1.ts';
import type { Pod } from '../../../shared/kubernetes/api.ts';
import type { PodUID, SandboxID } from '../../../shared/kubernetes/ids.ts';
import { runPodSandboxDuration, runPodSandboxErrors } from '../../../shared/metrics/definitions/pod-sync.ts';
import type { TaskContext } from '../dependencies.ts';
import { createCgroup } from './ensure-cgroup.ts';
import { runtimeHandlerOf } from './runtime-handler.ts';
import { StaleStatusError } from './stale-status.ts';

/**
 * Beside it, the cgroup and the log folder of its pod. `isNext`: a container of it starts at once. Rejects with CriError, StaleStatus,
 * Stopped, or the error of either.
 */
export async function createSandbox(context: TaskContext, pod: Pod, config: PodSandboxConfig, isNext: () => boolean): Promise<SandboxID> {
  // Behind the permit: what a hundred pods prepare at once comes off the runtime that is to start the first of them.
  const create = async () => {
    const running = runOrReplace(context, config);
    running.catch(() => {});
    try {
      // The request goes first: the runtime has the network to set up before it needs the cgroup, and would make it itself, without its values.
      await nextIteration();
      await createCgroup(context, pod);
      await mkdir(config.logDirectory, { recursive: true, mode: 0o755 });
    } catch (err) {
      await running.catch(() => {});
      throw err;
    }
    return running;
  };
  return context.channel.withPermit('sandbox', create, isNext);
}

async function runOrReplace(context: TaskContext, config: PodSandboxConfig): Promise<SandboxID> {
  const runtimeHandler = runtimeHandlerOf(context);
  try {
    return await run(context, config, runtimeHandler);
  } catch (err) {
    context.channel.podEnds.throwIfAborted();
    await clearTheWay(context, config, err);
    return run(context, config, runtimeHandler);
  }
}

async function run({ runtime, clock, channel }: TaskContext, config: PodSandboxConfig, runtimeHandler: string): Promise<SandboxID> {
  const beganAtMs = clock.monotonic();
  try {
    return await runtime.runPodSandbox(config, runtimeHandler, channel.podEnds);
  } catch (err) {
    runPodSandboxErrors.inc({ runtime_handler: runtimeHandler });
    throw err;
  } finally {
    runPodSandboxDuration.observe((clock.monotonic() - beganAtMs) / 1000, { runtime_handler: runtimeHandler });
  }
}

/**
 * The runtime keeps a name for each attempt: that it refuses one may mean that a task which was lost on its way had made the sandbox
 * already. One that is not ready is removed; a ready one is right, and may have containers that this task knows nothing of.
 */
async function clearTheWay({ runtime, identity, logger }: TaskContext, config: PodSandboxConfig, err: unknown): Promise<void> {
  if (!(err instanceof CriError)) throw err;
  const attempt = config.metadata?.attempt ?? 0;
  const found = await runtime.findSandboxes(identity.uid as PodUID).catch(() => []);
  const same = found.find((sandbox) => sandbox.attempt === attempt);
  if (!same) throw err;
  if (same.ready) throw new StaleStatusError(`its sandbox ${same.id} is there already`);
  logger.info({ sandboxID: same.id, attempt }, 'removing a sandbox that is in the way');
  await runtime.stopPodSandbox(same.id);
  await runtime.removePodSandbox(same.id);
}
