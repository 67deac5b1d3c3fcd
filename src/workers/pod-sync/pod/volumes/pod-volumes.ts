/** The operations of a sync on a pod's volumes. Each is idempotent. */
import { lstat, realpath } from '../blocking-fs.ts';
import type { VolumeNotReady } from '../../../../shared/contracts/published-volumes.ts';
import type { Mount } from '../../../../shared/cri/generated/cri-v1.ts';
import { KubeletError, messageOf } from '../../../../shared/errors/kubelet-error.ts';
import type { Pod, Volume } from '../../../../shared/kubernetes/api.ts';
import { podUID, type PodUID } from '../../../../shared/kubernetes/ids.ts';
import { memoryLimitsOf } from '../../../../shared/kubernetes/memory-volumes.ts';
import { podDir, podVolumeDir } from '../../../../shared/kubernetes/paths.ts';
import { goQuote } from '../../../../shared/kubernetes/go-text.ts';
import type { EnvFile } from '../runtime-config/env-file.ts';
import { computePodHostname } from '../runtime-config/hostname.ts';
import { forEachParallel } from '../../../../shared/concurrency/for-each-parallel.ts';
import { volumeKinds, volumesToMount } from '../../../../shared/kubernetes/volume-kind.ts';
import { maxSmallBytes } from '../large-work.ts';
import { makeContainerMounts } from './container-mounts.ts';
import { resizeMemoryDir } from './empty-dir.ts';
import { computeMemorySizeBytes } from './empty-dir-size.ts';
import { writeHostsFile } from './etc-hosts.ts';
import { fileUserResolver } from './file-user.ts';
import { nestedMountpoints } from './nested-mountpoints.ts';
import { readEnvFiles, type FileKeyRef } from './env-files.ts';
import { iterateWithYields } from './iterate-with-yields.ts';
import { mountCountProblem } from './mount-count.ts';
import { findPlugin, type PodVolume } from './plugins/volume-plugins.ts';
import type {
  ContainerMountsInput,
  EnvFilesInput,
  MountVolumesInput,
  PodVolumesOptions,
  ResizeMemoryVolumeInput,
  VolumeFailure,
} from './pod-volumes-inputs.ts';
import { ProjectQuotas } from './project-quota/project-quotas.ts';
import { startStorageOperationTimer } from '../../../../shared/metrics/storage-operation-timer.ts';
import type { TeardownContext, UnpublishVolume } from './teardown-context.ts';
import { removePodFolder, removeVolumeData, unmountAll, volumesOnDisk } from './teardown.ts';
import type { VolumeContext } from './volume-context.ts';
import { VolumeNotReadyError } from './volume-not-ready.ts';

/** The set-ups of kubelet-written volumes that run at a time. Each holds files of up to `maxSmallBytes`. */
const maxParallelWritten = 16;

export class PodVolumes {
  readonly #options: PodVolumesOptions;
  readonly #projectQuotas: ProjectQuotas;

  constructor(options: PodVolumesOptions) {
    this.#options = options;
    const enabled = options.featureGates.LocalStorageCapacityIsolationFSQuotaMonitoring;
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
    publishVolume = noPublishedVolumes,
    publishedVolumes = new Map(),
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
      publishVolume,
      publishedVolumes,
      maxBytes: maxSmallBytes,
      inTurn,
      logger,
      nestedMountpoints: nestedMountpoints(pod),
      podLevelResources: this.#options.featureGates.PodLevelResources,
      emptyDirModes: this.#options.featureGates.EmptyDirVolumeMode,
      resolveFileUser: fileUserResolver(this.#options.featureGates.AtomicWriteVolumeUserFields),
      projectQuotas: this.#projectQuotas,
      signal,
    };
    const failures = new Map<Volume, VolumeFailure>();
    const found: [volume: Volume, podVolume: PodVolume][] = [];
    for (const volume of volumes) {
      const podVolume = findPluginOrFailure(volume);
      if ('plugin' in podVolume) found.push([volume, podVolume]);
      else failures.set(volume, podVolume);
    }
    const setUp = async ([volume, podVolume]: (typeof found)[number]) => {
      const failure = await setUpVolume(context, volume, podVolume);
      if (failure) failures.set(volume, failure);
    };
    // Each of these set-ups holds the volume's files in memory while it writes them, so their number is limited.
    const writing = forEachParallel(
      found.filter(([, { plugin }]) => plugin.holdsFiles),
      maxParallelWritten,
      setUp,
    );
    writing.catch(() => {});
    // The other set-ups wait for the helper or for another thread, and hold no files, so that all may run at once.
    const others: Promise<void>[] = [];
    for await (const one of iterateWithYields(found.filter(([, { plugin }]) => !plugin.holdsFiles))) others.push(setUp(one));
    await Promise.all([writing, ...others]);
    signal?.throwIfAborted();
    return volumes.flatMap((volume) => failures.get(volume) ?? []);
  }

  /** Gives a volume in memory the size that the pod allows it. Rejects with the system's error: EINVAL when the files take more. */
  async resizeMemoryVolume({ pod, node, volume }: ResizeMemoryVolumeInput): Promise<void> {
    const sizeLimit = memoryLimitsOf(pod.spec).get(volume);
    const podLevelResources = this.#options.featureGates.PodLevelResources;
    await resizeMemoryDir({
      path: podVolumeDir(await realpath(this.#options.rootDir), podUID(pod), volumeKinds.emptyDir.plugin, volume),
      sizeBytes: computeMemorySizeBytes(pod, node.allocatable.memoryBytes, sizeLimit, podLevelResources),
    });
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

  /** Reads the environment files that a container's variables refer to, up to `maxBytes` (env-files.ts). */
  async readEnvFiles({ pod, container, maxBytes, signal }: EnvFilesInput): Promise<ReadonlyMap<string, EnvFile>> {
    if (!this.#options.featureGates.EnvFiles) return new Map();
    const read = (ref: FileKeyRef, maxFileBytes: number) => this.#readVolumeFile(pod, ref, maxFileBytes, signal);
    return readEnvFiles(container, { maxBytes, read, signal });
  }

  /**
   * Unmounts everything below the pod's folder, deepest first, then removes the volumes' data on disk. Needs only the UID. Succeeds when
   * there is nothing to do. Rejects with an Error that names the busy path.
   */
  async unmountVolumes(podUID: PodUID, signal?: AbortSignal, unpublishVolume: UnpublishVolume = unpublishNothing): Promise<void> {
    const context = await this.#teardownContext(podUID, unpublishVolume, signal);
    if (!context) return;
    const volumes = await volumesOnDisk(context);
    const stopTimer = startStorageOperationTimer('volume_unmount');
    try {
      await unmountAll(context, volumes);
      await removeVolumeData(context);
    } catch (err) {
      // A stopped task has not failed: the next one continues.
      if (!signal?.aborted) for (const { pluginName } of volumes) stopTimer(pluginName, false);
      throw err;
    }
    for (const { pluginName } of volumes) stopTimer(pluginName, true);
  }

  /** Removes the pod's folder. Rejects while anything is mounted below it. Follows neither symlinks nor mounts. */
  async removePodDirectory(podUID: PodUID, signal?: AbortSignal, unpublishVolume: UnpublishVolume = unpublishNothing): Promise<void> {
    const context = await this.#teardownContext(podUID, unpublishVolume, signal);
    if (context) await removePodFolder(context);
  }

  /** Returns undefined when the root dir or the pod's folder does not exist. Rejects when the folder is a symlink. */
  async #teardownContext(
    podUID: string,
    unpublishVolume: UnpublishVolume,
    signal: AbortSignal | undefined,
  ): Promise<TeardownContext | undefined> {
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
    return stats && { rootDir, podUID, helper, unpublishVolume, projectQuotas: this.#projectQuotas, logger, signal };
  }

  async #readVolumeFile(
    pod: Pod,
    { volumeName, path }: FileKeyRef,
    maxBytes: number,
    signal: AbortSignal | undefined,
  ): Promise<string | null> {
    const volume = pod.spec.volumes?.find(({ name }) => name === volumeName);
    const { plugin, source } = volume ? findPlugin(volume) : {};
    if (!plugin?.path) throw new Error(`cannot find the volume ${goQuote(volumeName)} referenced by FileKeyRef`);
    const place = { rootDir: await realpath(this.#options.rootDir), podUID: pod.metadata.uid, volume: volumeName };
    const request = { volumePath: plugin.path(place, source), path, maxBytes };
    return (await this.#options.helper.call('readFile', request, { signal })).content;
  }
}

/** Returns the failure, or undefined when the volume is set up. Files that the kubelet writes are compared each time and count as set up. */
async function setUpVolume(
  context: VolumeContext,
  { name }: Volume,
  { plugin, pluginName, source }: PodVolume,
): Promise<VolumeFailure | undefined> {
  const stopTimer = startStorageOperationTimer('volume_mount');
  try {
    const isNew = await plugin.mount(context, name, source);
    if (isNew) stopTimer(pluginName, true);
    return undefined;
  } catch (err) {
    if (err instanceof VolumeNotReadyError) {
      const { outcome, ...result } = err.result;
      return { volume: name, state: stateOf[outcome], ...result };
    }
    stopTimer(pluginName, false);
    const isUsable = (await plugin.isUsable?.(context, name)) ?? false;
    const message = `MountVolume.SetUp failed for volume ${goQuote(name)} : ${messageOf(err)}`;
    return { volume: name, message, state: isUsable ? 'outdated' : 'missing' };
  }
}

const noPublishedVolumes = async (volume: string): Promise<VolumeNotReady> => ({
  outcome: 'failed',
  message: `there is no volumes thread for volume ${goQuote(volume)}`,
});

const unpublishNothing: UnpublishVolume = ({ specName }) => noPublishedVolumes(specName);

const stateOf = { unprocessed: 'unknown', failed: 'missing', waiting: 'waiting' } as const;

function findPluginOrFailure(volume: Volume): PodVolume | VolumeFailure {
  try {
    return findPlugin(volume);
  } catch (err) {
    return { volume: volume.name, message: messageOf(err), state: 'unknown' };
  }
}
