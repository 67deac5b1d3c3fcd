/**
 * The entry of the sync pool's threads: the steps of one pod's sync (the default export), and the decoding of manifests. Called by
 * main through piscina (main/threads/pod-sync-pool.ts), hundreds of tasks at a time on each thread; it decides nothing that
 * outlives its task, and never lists the runtime.
 */
import type { DecodeManifestResult, DecodeManifestTask } from '../../shared/contracts/pod-sync/decode-manifest.ts';
import type { PodSyncTask, PodSyncTaskReply } from '../../shared/contracts/pod-sync/task.ts';
import { surviveFaults } from '../../shared/errors/survive-faults.ts';
import { prepareNative } from '../../shared/linux/native.ts';
import { runtimeCgroupDriver } from '../../shared/state/runtime-cgroup-driver.ts';
import { enterPoolThread } from '../../shared/thread/enter-thread.ts';
import { createDependencies } from './create-dependencies.ts';
import type { PodSyncDependencies } from './dependencies.ts';
import { runTask } from './run-task.ts';
import { SyncReport } from './sync-report.ts';

const { workerData: birth, logger } = enterPoolThread();
let dependencies: Promise<PodSyncDependencies> | undefined;

/** Made before the first task where there is time (`prepare`), by when the runtime has said who drives cgroups. Each task reports what keeps them from being made. */
function makeDependencies(): Promise<PodSyncDependencies> {
  const cgroupDriver = runtimeCgroupDriver(birth.runtimeCgroupDriver) ?? birth.settings.cgroupDriver;
  return createDependencies({ ...birth.settings, cgroupDriver }, logger);
}

/** What the first task needs is made before it comes. What keeps it from being made each task reports. */
export async function prepare(): Promise<void> {
  prepareNative();
  await (dependencies ??= makeDependencies()).catch(() => {});
}

/** Never throws. */
export default async function podSyncTask(task: PodSyncTask): Promise<PodSyncTaskReply> {
  try {
    return await runTask(await (dependencies ??= makeDependencies()), task, task.channel);
  } catch (err) {
    return { result: new SyncReport().result(err), notifications: [] };
  }
}

/** A part of its own, loaded with the first manifest: the first pods of a node that has none shall not wait for it. */
export async function decodeManifest(task: DecodeManifestTask): Promise<DecodeManifestResult> {
  const decoder = await import('../../shared/manifest/index.ts');
  return decoder.decodeManifest(task, birth.settings.featureGates);
}

// Loaded as a whole. What one task left behind (a timer, a promise that nobody waits for) must not end the thread with the tasks of hundreds of pods.
surviveFaults(logger, 'pod-sync');
