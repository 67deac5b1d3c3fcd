/**
 * The entry of the sync pool's threads: runs tasks of the pod lifecycle (the default export), decodes manifests, and works on the node's cgroups,
 * processes and iptables. Main calls the exports through piscina (main/threads/pod-sync-pool.ts), with hundreds of tasks at a time on each thread. A
 * task keeps no state for later tasks, and never lists the runtime.
 */
import type { ListPodCgroupsResult, SyncCgroupsResult, SyncCgroupsTask } from '../../shared/contracts/pod-sync/cgroups.ts';
import type { MoveProcessesResult, MoveProcessesTask } from '../../shared/contracts/pod-sync/host-processes.ts';
import type { RunIPTablesResult, RunIPTablesTask } from '../../shared/contracts/pod-sync/iptables.ts';
import type { UpdateRuntimeConfigResult, UpdateRuntimeConfigTask } from '../../shared/contracts/pod-sync/runtime-config.ts';
import type { DecodeManifestResult, DecodeManifestTask } from '../../shared/contracts/pod-sync/decode-manifest.ts';
import { failedResult } from '../../shared/contracts/pod-sync/result.ts';
import type { PodSyncTask, PodSyncTaskReply } from '../../shared/contracts/pod-sync/task.ts';
import { messageOf } from '../../shared/errors/kubelet-error.ts';
import { surviveFaults } from '../../shared/faults/survive-faults.ts';
import { prepareNative } from '../../shared/linux/native.ts';
import { runtimeCgroupDriver } from '../../shared/cgroups/runtime-cgroup-driver.ts';
import { enterPoolThread } from '../../shared/thread/enter-thread.ts';
import { createDependencies, type SyncThreadDependencies } from './create-dependencies.ts';
import { runTask } from './pod/run-task.ts';

const { workerData, logger } = enterPoolThread();
let dependencies: Promise<SyncThreadDependencies> | undefined;

/** Called once, by `prepare` or by the first task. Main sets the runtime's cgroup driver before either. */
function createThreadDependencies(): Promise<SyncThreadDependencies> {
  const { settings } = workerData;
  const cgroupDriver = runtimeCgroupDriver(workerData.runtimeCgroupDriver) ?? settings.cgroupDriver;
  return createDependencies({ ...settings, cgroupDriver }, logger);
}

/** Creates the dependencies before the first task. An error is ignored here: each task reports it. */
export async function prepare(): Promise<void> {
  prepareNative();
  await (dependencies ??= createThreadDependencies()).catch(() => {});
}

/** Never throws. */
export default async function podSyncTask(task: PodSyncTask): Promise<PodSyncTaskReply> {
  try {
    return await runTask(await (dependencies ??= createThreadDependencies()), task, task.channel);
  } catch (err) {
    return { result: failedResult(err, { changedRuntime: false }), notifications: [] };
  }
}

/** Rejects when the thread's dependencies cannot be created. */
export async function syncCgroups(task: SyncCgroupsTask): Promise<SyncCgroupsResult> {
  const { cgroups } = await (dependencies ??= createThreadDependencies());
  return cgroups.syncCgroups(task);
}

export async function listPodCgroups(): Promise<ListPodCgroupsResult> {
  const { cgroups } = await (dependencies ??= createThreadDependencies());
  return { podUIDs: await cgroups.listPods() };
}

/** Rejects like `syncCgroups`. */
export async function moveProcesses(task: MoveProcessesTask): Promise<MoveProcessesResult> {
  const { hostProcesses } = await (dependencies ??= createThreadDependencies());
  return hostProcesses.move(task);
}

/** Rejects like `syncCgroups`. */
export async function updateRuntimeConfig({ podCIDR }: UpdateRuntimeConfigTask): Promise<UpdateRuntimeConfigResult> {
  const { runtime } = await (dependencies ??= createThreadDependencies());
  try {
    return { result: (await runtime.updatePodCIDR(podCIDR)) ? 'updated' : 'unsupported' };
  } catch (err) {
    return { result: 'failed', message: messageOf(err) };
  }
}

/** Never throws. */
export async function runIPTables(task: RunIPTablesTask): Promise<RunIPTablesResult> {
  const networkChains = await import('./node/network-chains.ts');
  return networkChains.runIPTables(task);
}

/** Loads the decoder with the first manifest: on a node without manifests the first pods do not wait for it. */
export async function decodeManifest(task: DecodeManifestTask): Promise<DecodeManifestResult> {
  const decoder = await import('./manifest/index.ts');
  return decoder.decodeManifest(task, workerData.settings.featureGates);
}

// Last, when the module has loaded. A fault that a task leaves behind (a timer, a promise without a handler) must not end the tasks of other pods.
surviveFaults(logger, 'pod-sync');
