/**
 * Makes the runtime run a pod: first its prerequisites (network, cgroup, folders, volumes), then its sandbox and its containers. Follows
 * upstream's kubelet.go SyncPod, after the decisions that main has made, and kuberuntime_manager.go SyncPod. Idempotent: a repeated sync
 * does only what is missing.
 */
import { setImmediate as nextIteration } from 'node:timers/promises';
import { mkdir } from './blocking-fs.ts';
import type { PodSyncResult } from '../../../shared/contracts/pod-sync/result.ts';
import type { SyncPodTask } from '../../../shared/contracts/pod-sync/task.ts';
import { KubeletError, messageOf } from '../../../shared/errors/kubelet-error.ts';
import { podDir, podPluginsDir, podVolumesDir } from '../../../shared/kubernetes/paths.ts';
import { computePodActions } from './compute-pod-actions/index.ts';
import type { TaskContext } from './dependencies.ts';
import { killPod } from './kill/index.ts';
import { executePodActions, isResizeOnly } from './actions/index.ts';
import { inPhase } from './in-phase.ts';
import { mountVolumes } from './mount-volumes.ts';
import { ensureCgroup } from './start/index.ts';
import { podCgroupDifference } from './resize/index.ts';
import { SyncReport } from './sync-report.ts';

export async function syncPod(context: TaskContext, task: SyncPodTask): Promise<PodSyncResult> {
  const report = new SyncReport(task.apiStatus, (container, why) => context.channel.containerWaiting(container, why));
  try {
    checkNetwork(context, task);
    if (await killIfOutsideCgroup(context, task, report)) return report.result();
    const actions = computePodActions({
      pod: task.pod,
      status: task.status,
      ...(task.probes && { probes: task.probes }),
      ...(task.unfinishedHooks && { unfinishedHooks: task.unfinishedHooks }),
      ...(task.actuated && { actuated: task.actuated }),
      podLevelResizes: context.settings.featureGates.InPlacePodLevelResourcesVerticalScaling,
      restartAllContainers: isRestartingAll(context, task),
      containerRestartRules: context.settings.featureGates.ContainerRestartRules,
      restartAllContainersOnContainerExits: context.settings.featureGates.RestartAllContainersOnContainerExits,
    });
    // Only containers need volumes. A pod that may wait long for its volumes gets no sandbox in the meantime.
    const mountsDuringSandbox = actions.createSandbox && task.dependenciesReady === true;
    const volumes = inPhase(context, 'Volumes', {}, () => setUpVolumes(context, task, report, mountsDuringSandbox));
    // A failure is reported by the `await` below. The `finally` makes sure that no mount outlives the sync.
    volumes.catch(() => {});
    try {
      if (!mountsDuringSandbox && !isResizeOnly(actions, task)) await volumes;
      context.channel.signal.throwIfAborted();
      await executePodActions({ context, task, volumes, report }, actions);
    } finally {
      await Promise.allSettled([volumes]);
    }
    await volumes;
    report.podCgroup = await podCgroupDifference(context, task);
    return report.result();
  } catch (err) {
    return report.result(context.channel.signal.aborted ? context.channel.signal.reason : err);
  }
}

function isRestartingAll(context: TaskContext, { apiStatus }: SyncPodTask): boolean {
  const condition = apiStatus.conditions?.find(({ type }) => type === 'AllContainersRestarting');
  return context.settings.featureGates.RestartAllContainersOnContainerExits && condition?.status === 'True';
}

function checkNetwork({ node, events }: TaskContext, { pod }: SyncPodTask): void {
  if (node.networkReady || pod.spec.hostNetwork) return;
  const message = `network is not ready: ${node.networkNotReadyMessage}`;
  events.onPod('Warning', 'NetworkNotReady', message);
  throw new KubeletError('NetworkNotReady', message);
}

/**
 * Kills a pod that runs without its own cgroup, which happens when it was started before the node had pod cgroups. Returns true when
 * the pod was killed: the next sync starts it inside a cgroup. A pod that has not started gets its cgroup with its sandbox
 * (start/ensure-cgroup.ts).
 */
async function killIfOutsideCgroup(context: TaskContext, { pod, status, apiStatus }: SyncPodTask, report: SyncReport): Promise<boolean> {
  const hasRunning = apiStatus.containerStatuses?.some(({ state }) => state?.running !== undefined) ?? false;
  if (!status || !hasRunning || (await context.cgroups.exists(pod))) return false;
  context.logger.warn('pod runs without its own cgroup, killing it');
  report.changedRuntime = true;
  const failures = await killPod(context, status, null);
  for (const failure of failures) context.logger.warn({ failure }, 'cannot kill a pod that runs without its own cgroup');
  if (failures.length > 0) await ensureCgroup(context, pod);
  return failures.length === 0;
}

async function setUpVolumes(context: TaskContext, task: SyncPodTask, report: SyncReport, mountsDuringSandbox: boolean): Promise<void> {
  // Waits one iteration of the event loop, so that the sandbox's request to the runtime is sent first.
  if (mountsDuringSandbox) await nextIteration();
  await makePodDataDirs(context);
  await mountVolumes(context, task, report);
}

async function makePodDataDirs({ settings, identity, events }: TaskContext): Promise<void> {
  try {
    for (const folderOf of [podDir, podVolumesDir, podPluginsDir]) {
      await mkdir(folderOf(settings.rootDir, identity.uid), { recursive: true, mode: 0o750 });
    }
  } catch (err) {
    events.onPod('Warning', 'Failed', `error making pod data directories: ${messageOf(err)}`);
    throw new KubeletError('FailedToMakePodDataDirectories', `error making pod data directories: ${messageOf(err)}`);
  }
}
