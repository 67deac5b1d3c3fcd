/**
 * Makes the runtime run a pod: what it stands on (network, cgroup, folders, volumes), then its sandbox and its containers. After upstream's
 * kubelet.go SyncPod, behind what main has decided, and kuberuntime_manager.go SyncPod. Run again, it does only what is
 * missing.
 */
import { setImmediate as nextIteration } from 'node:timers/promises';
import { mkdir } from './blocking-fs.ts';
import type { PodSyncResult } from '../../shared/contracts/pod-sync/result.ts';
import type { SyncPodTask } from '../../shared/contracts/pod-sync/task.ts';
import { KubeletError, messageOf } from '../../shared/errors/kubelet-error.ts';
import { podDir, podPluginsDir, podVolumesDir } from '../../shared/kubernetes/paths.ts';
import { computePodActions } from './compute-pod-actions/index.ts';
import type { TaskContext } from './dependencies.ts';
import { killPod } from './kill/kill-pod.ts';
import { executePodActions } from './execute-pod-actions.ts';
import { mountVolumes } from './mount-volumes.ts';
import { ensureCgroup } from './start/ensure-cgroup.ts';
import { SyncReport } from './sync-report.ts';

export async function syncPod(context: TaskContext, task: SyncPodTask): Promise<PodSyncResult> {
  const report = new SyncReport(task.apiStatus, (container, why) => context.channel.containerWaiting(container, why));
  try {
    checkNetwork(context, task);
    if (await killOutsideCgroup(context, task, report)) return report.result();
    const actions = computePodActions({
      pod: task.pod,
      status: task.status,
      restartAllContainers: isRestartingAll(context, task),
      containerRestartRules: isEnabled(context, 'ContainerRestartRules'),
    });
    // Only containers need them. But a pod that may wait for them for long shall not have a sandbox meanwhile.
    const besideSandbox = actions.createSandbox && task.dependenciesReady === true;
    const volumes = makeVolumes(context, task, report, besideSandbox);
    // Whatever ends the sync sooner: nothing is mounted any more when it has ended.
    volumes.catch(() => {});
    try {
      if (!besideSandbox) await volumes;
      context.channel.signal.throwIfAborted();
      await executePodActions(context, task, actions, volumes, report);
    } finally {
      await Promise.allSettled([volumes]);
    }
    await volumes;
    return report.result();
  } catch (err) {
    return report.result(context.channel.signal.aborted ? context.channel.signal.reason : err);
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
 * Answers whether that is all for now: the pod ran outside of a cgroup of its own, from before the node had them, and was killed to come
 * back inside. One that has yet to start gets its cgroup with its sandbox (start/ensure-cgroup.ts).
 */
async function killOutsideCgroup(context: TaskContext, { pod, status, apiStatus }: SyncPodTask, report: SyncReport): Promise<boolean> {
  const hasRunning = apiStatus.containerStatuses?.some(({ state }) => state?.running !== undefined) ?? false;
  if (!status || !hasRunning || (await context.cgroups.exists(pod))) return false;
  context.logger.warn('pod runs outside of a cgroup of its own, killing it');
  report.changedRuntime = true;
  const failures = await killPod(context, status, null);
  for (const failure of failures) context.logger.warn({ failure }, 'cannot kill a pod that runs outside of a cgroup of its own');
  if (failures.length > 0) await ensureCgroup(context, pod);
  return failures.length === 0;
}

async function makeVolumes(context: TaskContext, task: SyncPodTask, report: SyncReport, besideSandbox: boolean): Promise<void> {
  // The request for the sandbox goes first.
  if (besideSandbox) await nextIteration();
  await makeFolders(context);
  await mountVolumes(context, task, report);
}

/** Upstream makePodDataDirs. */
async function makeFolders({ settings, identity: about, events }: TaskContext): Promise<void> {
  try {
    for (const folderOf of [podDir, podVolumesDir, podPluginsDir]) {
      await mkdir(folderOf(settings.rootDir, about.uid), { recursive: true, mode: 0o750 });
    }
  } catch (err) {
    events.onPod('Warning', 'Failed', `error making pod data directories: ${messageOf(err)}`);
    throw new KubeletError('FailedToMakePodDataDirectories', `error making pod data directories: ${messageOf(err)}`);
  }
}
