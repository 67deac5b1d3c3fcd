/**
 * Makes the runtime run a pod: what it stands on (network, cgroup, folders, volumes), then its sandbox and its containers. After upstream's
 * kubelet.go SyncPod, behind what main has decided, and kuberuntime_manager.go SyncPod. Run again, it does only what is
 * missing.
 */
import { mkdir } from 'node:fs/promises';
import type { PodSyncResult, SyncPodTask } from '../../shared/contracts/pod-sync.ts';
import { KubeletError, messageOf } from '../../shared/errors/kubelet-error.ts';
import type { Container, PodSpec } from '../../shared/kubernetes/api.ts';
import { podDir, podPluginsDir, podVolumesDir } from '../../shared/kubernetes/paths.ts';
import { computePodActions } from './compute-pod-actions/index.ts';
import type { TaskContext } from './dependencies.ts';
import { killPod } from './kill/kill-pod.ts';
import { carryOut } from './carry-out.ts';
import { mountVolumes } from './mount-volumes.ts';
import { SyncReport } from './sync-report.ts';

export async function syncPod(context: TaskContext, task: SyncPodTask): Promise<PodSyncResult> {
  const report = new SyncReport(task.apiStatus);
  try {
    checkNetwork(context, task);
    if (await prepareCgroup(context, task, report)) return report.result();
    await makeFolders(context);
    await mountVolumes(context, task, report);
    context.line.signal.throwIfAborted();
    const actions = computePodActions({
      pod: task.pod,
      status: task.status,
      restartAllContainers: isRestartingAll(context, task),
      containerRestartRules: isEnabled(context, 'ContainerRestartRules'),
    });
    await carryOut(context, task, actions, report);
    return report.result();
  } catch (err) {
    return report.result(context.line.signal.aborted ? context.line.signal.reason : err);
  }
}

/** Gates on by default in v1.36. */
function isEnabled({ settings }: TaskContext, gate: 'ContainerRestartRules' | 'RestartAllContainersOnContainerExits'): boolean {
  return settings.featureGates[gate] ?? true;
}

function isRestartingAll(context: TaskContext, { apiStatus }: SyncPodTask): boolean {
  const condition = apiStatus.conditions?.find(({ type }) => type === 'AllContainersRestarting');
  return isEnabled(context, 'RestartAllContainersOnContainerExits') && condition?.status === 'True';
}

function checkNetwork({ node, events }: TaskContext, { pod }: SyncPodTask): void {
  if (node.networkReady || pod.spec.hostNetwork) return;
  const message = `network is not ready: ${node.networkNotReadyMessage}`;
  events.onPod('Warning', 'NetworkNotReady', message);
  throw new KubeletError('NetworkNotReady', message);
}

/**
 * Answers whether the pod was killed: it ran outside of a cgroup of its own, from before the node had them, and is to come back inside. A
 * pod that is to run once does not come back.
 */
async function prepareCgroup(context: TaskContext, { pod, status, apiStatus }: SyncPodTask, report: SyncReport): Promise<boolean> {
  const { cgroups, events, logger } = context;
  if (await cgroups.exists(pod)) return false;
  const hasRunning = apiStatus.containerStatuses?.some(({ state }) => state?.running !== undefined) ?? false;
  let killed = false;
  if (status && hasRunning) {
    logger.warn('pod runs outside of a cgroup of its own, killing it');
    report.changedRuntime = true;
    const failures = await killPod(context, status, null);
    killed = failures.length === 0;
    for (const failure of failures) logger.warn({ failure }, 'cannot kill a pod that runs outside of a cgroup of its own');
  }
  if (!killed || pod.spec.containers.some((container) => isContainerRestartable(container, pod.spec))) {
    try {
      await cgroups.ensure(pod);
    } catch (err) {
      events.onPod('Warning', 'FailedCreatePodContainer', `unable to ensure pod container exists: ${messageOf(err)}`);
      const message = `failed to ensure that the pod: ${context.about.uid} cgroups exist and are correctly applied: ${messageOf(err)}`;
      throw new KubeletError('FailedCreatePodContainer', message);
    }
  }
  return killed;
}

/** Upstream podutil.IsContainerRestartable. */
function isContainerRestartable(container: Container, spec: PodSpec): boolean {
  if (container.restartPolicy === undefined) return spec.restartPolicy !== 'Never';
  return container.restartPolicy !== 'Never' || (container.restartPolicyRules ?? []).some(({ action }) => action === 'Restart');
}

/** Upstream makePodDataDirs. */
async function makeFolders({ settings, about, events }: TaskContext): Promise<void> {
  try {
    for (const folderOf of [podDir, podVolumesDir, podPluginsDir]) {
      await mkdir(folderOf(settings.rootDir, about.uid), { recursive: true, mode: 0o750 });
    }
  } catch (err) {
    events.onPod('Warning', 'Failed', `error making pod data directories: ${messageOf(err)}`);
    throw new KubeletError('FailedToMakePodDataDirectories', `error making pod data directories: ${messageOf(err)}`);
  }
}
