/** The operations of a sync on a pod's volumes. Each is idempotent. */
import { lstat, realpath } from '../blocking-fs.ts';
import type { PodSyncSettings } from '../../../../shared/contracts/pod-sync/worker-data.ts';
import type { Mount } from '../../../../shared/cri/generated/cri-v1.ts';
import { KubeletError, messageOf } from '../../../../shared/errors/kubelet-error.ts';
import type { Pod, Volume } from '../../../../shared/kubernetes/api.ts';
import type { PodUID } from '../../../../shared/kubernetes/ids.ts';
import { podDir } from '../../../../shared/kubernetes/paths.ts';
import { goQuote } from '../../../../shared/kubernetes/go-text.ts';
import type { EnvFile } from '../runtime-config/env-file.ts';
import { isGateEnabled } from '../../feature-gate-defaults.ts';
import { computePodHostname } from '../runtime-config/hostname.ts';
import { makeContainerMounts, volumePath } from './container-mounts.ts';
import type { VolumeContext } from './volume-context.ts';
import { readEnvFiles, type FileKeyRef } from './env-files.ts';
import { setUpEmptyDir } from './empty-dir.ts';
import { fileUserResolver } from './file-user.ts';
import { writeHostsFile } from './etc-hosts.ts';
import { startStorageOperationTimer } from './storage-operation-timer.ts';
import { mountCountProblem } from './mount-count.ts';
import { nestedMountpoints } from './nested-mountpoints.ts';
import { ProjectQuotas } from './project-quota/index.ts';
import { pluginsOnDisk, removePodFolder, removeVolumeData, type TeardownContext, unmountAll } from './teardown.ts';
import type { ContainerMountsInput, EnvFilesInput, MountVolumesInput, PodVolumesOptions, VolumeFailure } from './pod-volumes-inputs.ts';
import {
  isWrittenByKubelet,
  volumeKind,
  pluginNameOf,
  volumesToMount,
  type VolumeKind,
} from '../../../../shared/kubernetes/volume-kind.ts';
import { forEachParallel } from '../../../../shared/concurrency/for-each-parallel.ts';
import { LargeWorkError, maxLargeBytes, maxSmallBytes } from '../large-work.ts';
import { hasPublishedFiles, setUpKubeletWrittenVolume, type KubeletWrittenVolume } from './kubelet-written-volume.ts';

/** With files of up to `maxSmallBytes` each. */
const maxParallelWritten = 16;
/** The fields of volumes whose files the kubelet writes. */
const writtenFields = ['configMap', 'secret', 'projected', 'downwardAPI'] as const;

export class PodVolumes {
  readonly #options: PodVolumesOptions;
  readonly #gates: Pick<PodSyncSettings, 'featureGates'>;
  readonly #projectQuotas: ProjectQuotas;

  constructor(options: PodVolumesOptions) {
    this.#options = options;
    this.#gates = { featureGates: options.featureGates ?? {} };
    const enabled = isGateEnabled(this.#gates, 'LocalStorageCapacityIsolationFSQuotaMonitoring');
    this.#projectQuotas = new ProjectQuotas({ enabled, logger: options.logger });
  }

  /**
   * Sets up each volume that a container uses, in the pod's folders, which the sync has created. A repeated call updates the files that the
   * kubelet writes and leaves everything else. Resolves with the failures. Rejects when the pod has too many mounts.
   */
  async mountVolumes({
    pod,
    node,
    requestPodObjects,
    inTurn = (work) => work(),
    signal,
  }: MountVolumesInput): Promise<readonly VolumeFailure[]> {
    const { helper, logger } = this.#options;
    const problem = mountCountProblem(pod);
    if (problem !== null) throw new Error(problem);
    const rootDir = await realpath(this.#options.rootDir);
    const volumes = volumesToMount(pod);
    const context: VolumeContext = {
      pod,
      node,
      rootDir,
      helper,
      requestPodObjects,
      maxBytes: maxSmallBytes,
      inTurn,
      logger,
      nestedMountpoints: nestedMountpoints(pod),
      podLevelResources: isGateEnabled(this.#gates, 'PodLevelResources'),
      emptyDirModes: isGateEnabled(this.#gates, 'EmptyDirVolumeMode'),
      resolveFileUser: fileUserResolver(isGateEnabled(this.#gates, 'AtomicWriteVolumeUserFields')),
      projectQuotas: this.#projectQuotas,
      signal,
    };
    const failures = new Map<Volume, VolumeFailure>();
    const setUp = async (volume: Volume) => {
      const failure = await setUpVolume(context, volume);
      if (failure) failures.set(volume, failure);
    };
    const written = volumes.filter((volume) => writtenFields.some((field) => volume[field]));
    // Each holds its files while it writes them. What the other kinds wait for is not in this thread.
    await Promise.all([
      forEachParallel(written, maxParallelWritten, setUp),
      ...volumes.filter((volume) => !written.includes(volume)).map(setUp),
    ]);
    signal?.throwIfAborted();
    return volumes.flatMap((volume) => failures.get(volume) ?? []);
  }

  /**
   * Makes the mounts of one container: its volumeMounts (each subPath is bind-mounted, safe against a symlink that is swapped meanwhile),
   * /etc/hosts, and a new termination message file. Rejects with KubeletError `CreateContainerConfigError`.
   */
  async makeContainerMounts(input: ContainerMountsInput): Promise<Mount[]> {
    try {
      const hostname = computePodHostname(input.pod, this.#options);
      return await makeContainerMounts({ ...this.#options, ...input, hostname, rootDir: await realpath(this.#options.rootDir) });
    } catch (err) {
      input.signal?.throwIfAborted();
      throw new KubeletError('CreateContainerConfigError', messageOf(err), { cause: err });
    }
  }

  /** Fills the hosts file of a pod whose IPs were unknown when the mounts were made. Rejects with the system's error. */
  async writeHostsFile(pod: Pod, podIPs: readonly string[]): Promise<void> {
    const hostname = computePodHostname(pod, this.#options);
    await writeHostsFile(await realpath(this.#options.rootDir), pod, podIPs, hostname);
  }

  /** Reads what a container's environment takes from files, up to `maxBytes` (env-files.ts). */
  async readEnvFiles({ pod, container, maxBytes, signal }: EnvFilesInput): Promise<ReadonlyMap<string, EnvFile>> {
    if (!isGateEnabled(this.#gates, 'EnvFiles')) return new Map();
    const read = (ref: FileKeyRef, maxFileBytes: number) => this.#readVolumeFile(pod, ref, maxFileBytes, signal);
    return readEnvFiles(container, { maxBytes, read, signal });
  }

  /**
   * Unmounts everything below the pod's folder, deepest first, then removes the volumes' data on disk. Needs only the UID. Succeeds when
   * there is nothing to do. Rejects with an Error that names the busy path.
   */
  async unmountVolumes(podUID: PodUID, signal?: AbortSignal): Promise<void> {
    const context = await this.#teardownContext(podUID, signal);
    if (!context) return;
    const plugins = await pluginsOnDisk(context);
    const stopTimer = startStorageOperationTimer('volume_unmount');
    try {
      await unmountAll(context);
      await removeVolumeData(context);
    } catch (err) {
      // A stopped task has not failed: the next one continues.
      if (!signal?.aborted) for (const plugin of plugins) stopTimer(plugin, false);
      throw err;
    }
    for (const plugin of plugins) stopTimer(plugin, true);
  }

  /** Removes the pod's folder. Rejects while anything is mounted below it. Follows neither symlinks nor mounts. */
  async removePodDirectory(podUID: PodUID, signal?: AbortSignal): Promise<void> {
    const context = await this.#teardownContext(podUID, signal);
    if (context) await removePodFolder(context);
  }

  /** Returns undefined when the root dir or the pod's folder does not exist. Rejects when the folder is a symlink. */
  async #teardownContext(podUID: string, signal: AbortSignal | undefined): Promise<TeardownContext | undefined> {
    const { helper, logger } = this.#options;
    const rootDir = await realpath(this.#options.rootDir).catch((err: NodeJS.ErrnoException) => {
      if (err.code !== 'ENOENT') throw err;
    });
    if (rootDir === undefined) return undefined;
    const dir = podDir(rootDir, podUID);
    const stats = await lstat(dir).catch((err: NodeJS.ErrnoException): undefined => {
      if (err.code !== 'ENOENT') throw err;
    });
    if (stats && !stats.isDirectory()) throw new Error(`folder of pod ${podUID}: ${dir} is not a folder`);
    return stats && { rootDir, podUID, helper, projectQuotas: this.#projectQuotas, logger, signal };
  }

  async #readVolumeFile(
    pod: Pod,
    { volumeName, path }: FileKeyRef,
    maxBytes: number,
    signal: AbortSignal | undefined,
  ): Promise<string | null> {
    const volume = pod.spec.volumes?.find(({ name }) => name === volumeName);
    const kind = volume && volumeKind(volume);
    if (!volume || !kind || kind.kind === 'image')
      throw new Error(`cannot find the volume ${goQuote(volumeName)} referenced by FileKeyRef`);
    const rootDir = await realpath(this.#options.rootDir);
    const request = { volumePath: volumePath(rootDir, pod, volume, kind), path, maxBytes };
    return (await this.#options.helper.call('readFile', request, { signal })).content;
  }
}

/** Returns the failure, or undefined when the volume is set up. */
async function setUpVolume(context: VolumeContext, volume: Volume): Promise<VolumeFailure | undefined> {
  let kind: VolumeKind;
  try {
    kind = volumeKind(volume);
  } catch (err) {
    return { volume: volume.name, message: messageOf(err), state: 'unknown' };
  }
  const stopTimer = startStorageOperationTimer('volume_mount');
  try {
    const isNew = await setUpByKind(context, volume, kind);
    if (isNew) stopTimer(pluginNameOf(kind), true);
    return undefined;
  } catch (err) {
    stopTimer(pluginNameOf(kind), false);
    const isOutdated = isWrittenByKubelet(kind.kind) && (await hasPublishedFiles(context, volume.name, kind.kind));
    const message = `MountVolume.SetUp failed for volume ${goQuote(volume.name)} : ${messageOf(err)}`;
    return { volume: volume.name, message, state: isOutdated ? 'outdated' : 'missing' };
  }
}

/** Returns false when the volume was ready already. Files that the kubelet writes are compared each time and count as set up. */
async function setUpByKind(context: VolumeContext, volume: Volume, volumeKind: VolumeKind): Promise<boolean> {
  switch (volumeKind.kind) {
    case 'emptyDir':
      return setUpEmptyDir(context, volume.name, volumeKind.source);
    case 'hostPath':
      await setUpHostPath(context, volumeKind.source);
      return true;
    case 'downwardAPI':
    case 'projected':
    case 'configMap':
    case 'secret':
      await setUpWritten(context, volume.name, volumeKind);
      return true;
    case 'image':
      return false;
    default:
      return volumeKind satisfies never;
  }
}

/** A volume with large files waits for its turn. */
async function setUpWritten(context: VolumeContext, volume: string, kind: KubeletWrittenVolume): Promise<void> {
  try {
    await setUpKubeletWrittenVolume(context, volume, kind);
  } catch (err) {
    if (!(err instanceof LargeWorkError)) throw err;
    await context.inTurn(() => setUpKubeletWrittenVolume({ ...context, maxBytes: maxLargeBytes }, volume, kind));
  }
}

/** Without a type, nothing is checked: the runtime reports a missing path. */
async function setUpHostPath(
  { helper, signal }: VolumeContext,
  { path, type }: { readonly path: string; readonly type?: string },
): Promise<void> {
  if (path.split('/').includes('..')) throw new Error(`invalid HostPath \`${path}\`: must not contain '..'`);
  if (!type) return;
  const { failure } = await helper.call('checkHostPath', { path, type }, { signal });
  if (failure !== null) throw new Error(failure);
}
