/**
 * Executes the actions that a pod needs, in upstream's order (kuberuntime_manager.go SyncPod): kill containers or the whole pod, end the
 * postStart hooks that were interrupted, create the sandbox, start ephemeral, init and regular containers. Failures go to the report; a failed container stops only the containers that
 * depend on it.
 */
import { forEachParallel } from '../../../../shared/concurrency/for-each-parallel.ts';
import type { SyncPodTask } from '../../../../shared/contracts/pod-sync/task.ts';
import type { RuntimeContainerStatus } from '../../../../shared/contracts/runtime-status.ts';
import type { ContainerID } from '../../../../shared/kubernetes/ids.ts';
import { startedUserNamespacedPodsErrors } from '../../../../shared/metrics/definitions/pod-sync.ts';
import type { PodActions } from '../compute-pod-actions/index.ts';
import type { TaskContext } from '../dependencies.ts';
import { podIPForHooks } from '../hooks/index.ts';
import { killContainer, killPod, removeContainer } from '../kill/index.ts';
import { rpcErrorOf } from '../pod-runtime.ts';
import { executeResize, recordNewCgroup } from '../resize/index.ts';
import {
  prepareFirstContainer,
  prepareSandbox,
  repeatPostStartHooks,
  reportStaleStatus,
  StaleStatusError,
  startContainers,
} from '../start/index.ts';
import type { SyncReport } from '../sync-report.ts';

/**
 * Rejects with Stopped, or with the rejection of `volumes`. The report gets all other failures.
 * @param volumes settles when the pod's volumes are mounted; containers wait for it
 */
export async function executePodActions(
  context: TaskContext,
  task: SyncPodTask,
  actions: PodActions,
  volumes: Promise<void>,
  report: SyncReport,
): Promise<void> {
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
  const killed = actions.killPod
    ? await killWholePod(context, task, actions, report)
    : await killContainers(context, task, actions, report);
  if (!killed) return;
  await pruneInitContainers(context, task);
  channel.signal.throwIfAborted();

  const starts = [...actions.ephemeralContainersToStart, ...actions.initContainersToStart, ...actions.containersToStart];
  const { resize, sandboxID } = actions;
  if (resize && !actions.killPod && sandboxID !== undefined) {
    report.changedRuntime = true;
    report.resizeError = await executeResize(context, { task, actions: resize, sandboxID, hostInfo: await context.hostInfo.read() });
  }
  report.resetWaiting();
  await repeatPostStartHooks(context, task, actions.hooksToRepeat, report);
  if (!actions.createSandbox && starts.length === 0) return;
  const hostInfo = context.hostInfo.read();
  hostInfo.catch(() => {});
  const isFirstStart = actions.createSandbox && task.status === null && task.isRetry !== true;
  const firstContainer = isFirstStart ? prepareFirstContainer(context, task, actions, volumes, hostInfo) : undefined;
  try {
    const sandbox = await prepareSandbox(context, task, actions, { hostInfo, firstContainer }, report);
    if (sandbox && actions.createSandbox) recordNewCgroup(context, task);
    await volumes;
    channel.signal.throwIfAborted();
    if (sandbox) await startContainers(context, task, actions, { sandbox, firstContainer }, report);
  } finally {
    // The runtime may refuse the mappings of a mount only when it creates a container, so that every failure of a first start counts, as upstream.
    if (actions.createSandbox && task.pod.spec.hostUsers === false && report.hasFailures) startedUserNamespacedPodsErrors.inc();
  }
}

/** Returns the running containers that the actions stop and then start again under the same name. */
export function containersToRestart(
  status: SyncPodTask['status'],
  actions: Pick<PodActions, 'killPod' | 'containersToKill' | 'initContainersToStart' | 'containersToStart'>,
): ContainerID[] {
  const starts = new Set([...actions.initContainersToStart, ...actions.containersToStart]);
  const kills = new Set(actions.containersToKill.map(({ id }) => id));
  const isStopped = ({ id }: RuntimeContainerStatus) => actions.killPod || kills.has(id);
  const containers = status?.containers.filter((one) => one.state === 'running' && starts.has(one.name) && isStopped(one)) ?? [];
  return containers.map(({ id }) => id);
}

/** Returns false when something could not be killed: the sync ends there. */
async function killWholePod(context: TaskContext, { pod, status }: SyncPodTask, actions: PodActions, report: SyncReport): Promise<boolean> {
  if (!status) return true;
  if (status.sandboxes.length > 0 || status.containers.length > 0) report.changedRuntime = true;
  const failures = await killPod(context, status, null);
  for (const failure of failures) report.fail(failure);
  if (failures.length > 0) return false;
  if (!actions.createSandbox) return true;
  // In a new sandbox the init containers run again. The old instances would prove that they have run already.
  const init = new Set(pod.spec.initContainers?.map(({ name }) => name));
  await removeInitContainers(
    context,
    status.containers.filter(({ name }) => init.has(name)),
  );
  return true;
}

/** Returns false when something could not be killed or removed: the sync ends there. */
async function killContainers(context: TaskContext, { status }: SyncPodTask, actions: PodActions, report: SyncReport): Promise<boolean> {
  const resetAtMs = computeResetTime(actions.containersToReset, context.clock.now());
  if (resetAtMs !== undefined) {
    report.retryAt(resetAtMs);
    return false;
  }
  const podIP = podIPForHooks(context, status?.podIPs ?? []);
  for (const { id, name, message, reason } of actions.containersToKill) {
    report.changedRuntime = true;
    const orphan = status?.containers.find((container) => container.id === id)?.orphan;
    try {
      await killContainer(context, { id, name, message, reason, gracePeriodOverrideSeconds: null, podIP, ...(orphan && { orphan }) });
    } catch (err) {
      context.channel.signal.throwIfAborted();
      report.fail({ action: 'KillContainer', target: name, reason: 'KillContainerError', message: rpcErrorOf(err) });
      return false;
    }
  }
  for (const { id, name, kill } of actions.containersToReset) {
    report.changedRuntime = true;
    try {
      if (kill)
        await killContainer(context, {
          id,
          name,
          message: 'killing',
          reason: 'RestartAllContainers',
          gracePeriodOverrideSeconds: 0,
          podIP,
        });
      await removeContainer(context, { id, name, logPath: '' }, true);
    } catch (err) {
      context.channel.signal.throwIfAborted();
      report.fail({ action: 'RemoveContainer', target: name, reason: 'RemoveContainerError', message: rpcErrorOf(err) });
      return false;
    }
  }
  // The next sync starts all containers again, once the runtime's status shows that they are gone.
  if (actions.containersToReset.length > 0) report.retryAt(context.clock.now());
  return true;
}

/**
 * Containers that were removed by RestartAllContainers have no back-off. Without this delay, a container that asks for it at once would occupy the runtime.
 * A second is upstream's relist period, before which it sees no exit.
 */
const resetDelayMs = 1000;

/** Returns the wall-clock ms at which the containers are reset; undefined when they are reset now. A trigger in the future is due: the clock was set back. */
export function computeResetTime(containers: PodActions['containersToReset'], nowMs: number): number | undefined {
  const triggeredAtMs = Math.min(...containers.map((container) => container.triggeredAtMs ?? Infinity));
  return nowMs >= triggeredAtMs && nowMs < triggeredAtMs + resetDelayMs ? triggeredAtMs + resetDelayMs : undefined;
}

/** A low limit leaves the runtime's capacity to other pods. */
const parallelRemovals = 4;

/** Keeps only the newest dead instance of each init container. In a crash loop, garbage collection would let too many accumulate. */
async function pruneInitContainers(context: TaskContext, { pod, status }: SyncPodTask): Promise<void> {
  for (const { name } of pod.spec.initContainers ?? []) {
    const deadInstances = status?.containers.filter(
      (container) => container.name === name && (container.state === 'exited' || container.state === 'unknown'),
    );
    await removeInitContainers(context, deadInstances?.slice(1) ?? []);
  }
}

/** A container that cannot be removed is left to garbage collection. */
async function removeInitContainers(context: TaskContext, containers: NonNullable<SyncPodTask['status']>['containers']): Promise<void> {
  await forEachParallel(containers, parallelRemovals, async (container) => {
    await removeContainer(context, container, false).catch((err: unknown) => {
      context.logger.warn({ err, container: container.name, containerID: container.id }, 'cannot remove an init container');
    });
  });
}
