/** The room's offer: what a sync does with volumes, each a step that may be repeated. */
import { lstat, realpath } from '../blocking-fs.ts';
import type { PodSyncSettings } from '../../../shared/contracts/pod-sync/worker-data.ts';
import type { Mount } from '../../../shared/cri/generated/cri-v1.ts';
import { KubeletError, messageOf } from '../../../shared/errors/kubelet-error.ts';
import type { Container, EphemeralContainer, Pod, Volume } from '../../../shared/kubernetes/api.ts';
import type { PodUID } from '../../../shared/kubernetes/ids.ts';
import { podDir } from '../../../shared/kubernetes/paths.ts';
import { goQuote } from '../../../shared/kubernetes/go-text.ts';
import { envFileKey } from '../runtime-config/environment.ts';
import { isGateEnabled } from '../feature-gate-defaults.ts';
import { podHostname } from '../runtime-config/hostname.ts';
import { makeContainerMounts, volumePath } from './container-mounts.ts';
import type { VolumeContext } from './volume-context.ts';
import { setUpEmptyDir } from './empty-dir.ts';
import { writeHostsFile } from './etc-hosts.ts';
import { startStorageOperationTimer } from './storage-operation-timer.ts';
import { nestedMountpoints } from './nested-mountpoints.ts';
import { pluginsOnDisk, removePodFolder, removeVolumeData, type TeardownContext, unmountAll } from './teardown.ts';
import type { ContainerMountsInput, MountVolumesInput, PodVolumesOptions, VolumeFailure } from './pod-volumes-inputs.ts';
import { isWrittenByKubelet, volumeKind, pluginNameOf, volumesToMount, type VolumeKind } from '../../../shared/kubernetes/volume-kind.ts';
import { hasPublishedFiles, setUpKubeletWrittenVolume } from './kubelet-written-volume.ts';

/** An environment file larger than this is no environment file. */
const maxEnvFileBytes = 1024 * 1024;

export class PodVolumes {
  readonly #options: PodVolumesOptions;
  readonly #gates: Pick<PodSyncSettings, 'featureGates'>;

  constructor(options: PodVolumesOptions) {
    this.#options = options;
    this.#gates = { featureGates: options.featureGates ?? {} };
  }

  /**
   * Sets up each volume that a container uses, in the pod's folders, which the sync has made. Run again, it changes only what is not as it
   * should be: files that the kubelet writes follow the pod and the API server. Resolves with the volumes that failed.
   */
  async mountVolumes({ pod, node, requestPodObjects, signal }: MountVolumesInput): Promise<readonly VolumeFailure[]> {
    const { helper, logger } = this.#options;
    const rootDir = await realpath(this.#options.rootDir);
    const volumes = volumesToMount(pod);
    const podLevelResources = isGateEnabled(this.#gates, 'PodLevelResources');
    const nested = nestedMountpoints(pod);
    const context: VolumeContext = {
      pod,
      node,
      rootDir,
      helper,
      requestPodObjects,
      logger,
      nestedMountpoints: nested,
      podLevelResources,
      signal,
    };
    const failures = await Promise.all(volumes.map((volume) => failureOf(context, volume)));
    signal?.throwIfAborted();
    return failures.filter((failure) => failure !== undefined);
  }

  /**
   * The mounts of one container: its volumeMounts (subPaths bound, safe against a symlink that changes meanwhile), /etc/hosts, and a new
   * termination message file. Rejects with KubeletError `CreateContainerConfigError`.
   */
  async makeContainerMounts(input: ContainerMountsInput): Promise<Mount[]> {
    try {
      const hostname = podHostname(input.pod, { ...this.#gates, clusterDomain: this.#options.clusterDomain });
      return await makeContainerMounts({ ...this.#options, ...input, hostname, rootDir: await realpath(this.#options.rootDir) });
    } catch (err) {
      input.signal?.throwIfAborted();
      throw new KubeletError('CreateContainerConfigError', messageOf(err), { cause: err });
    }
  }

  /** The hosts file of a pod whose containers' mounts were made before its addresses were known. Rejects with the system's error. */
  async writeHostsFile(pod: Pod, podIPs: readonly string[]): Promise<void> {
    const hostname = podHostname(pod, { ...this.#gates, clusterDomain: this.#options.clusterDomain });
    await writeHostsFile(await realpath(this.#options.rootDir), pod, podIPs, hostname);
  }

  /**
   * The files that a container's environment refers to (fileKeyRef), by `envFileKey`: `makeEnvironment` takes them. Empty for most.
   * Rejects with KubeletError `CreateContainerConfigError`.
   */
  async readEnvFiles(pod: Pod, container: Container | EphemeralContainer, signal?: AbortSignal): Promise<ReadonlyMap<string, string>> {
    const files = new Map<string, string>();
    for (const { valueFrom } of container.env ?? []) {
      const ref = valueFrom?.fileKeyRef;
      if (!ref || files.has(envFileKey(ref)) || !isGateEnabled(this.#gates, 'EnvFiles')) continue;
      try {
        files.set(envFileKey(ref), await this.#readVolumeFile(pod, ref.volumeName, ref.path, signal));
      } catch (err) {
        signal?.throwIfAborted();
        throw new KubeletError('CreateContainerConfigError', `couldn't parse env file: ${messageOf(err)}`, { cause: err });
      }
    }
    return files;
  }

  /**
   * Takes down all that is mounted below the pod's folder, deepest first, then what volumes left on disk. Needs only the UID. Nothing to
   * do is a success. Rejects naming the path that is still busy.
   */
  async unmountVolumes(podUID: PodUID, signal?: AbortSignal): Promise<void> {
    const context = await this.#teardown(podUID, signal);
    if (!context) return;
    const plugins = await pluginsOnDisk(context);
    const ended = startStorageOperationTimer('volume_unmount');
    try {
      await unmountAll(context);
      await removeVolumeData(context);
    } catch (err) {
      // One that was told to stop has not failed: the next goes on.
      if (!signal?.aborted) for (const plugin of plugins) ended(plugin, false);
      throw err;
    }
    for (const plugin of plugins) ended(plugin, true);
  }

  /** Removes the pod's folder. Refuses (rejects) while anything is mounted below it; follows neither a symlink nor a mount. */
  async removePodDirectory(podUID: PodUID, signal?: AbortSignal): Promise<void> {
    const context = await this.#teardown(podUID, signal);
    if (context) await removePodFolder(context);
  }

  /** Undefined: there is no root dir or no folder of the pod. Rejects where a link would lead elsewhere. */
  async #teardown(podUID: string, signal: AbortSignal | undefined): Promise<TeardownContext | undefined> {
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
    return stats && { rootDir, podUID, helper, logger, signal };
  }

  async #readVolumeFile(pod: Pod, volumeName: string, path: string, signal: AbortSignal | undefined): Promise<string> {
    const volume = pod.spec.volumes?.find(({ name }) => name === volumeName);
    const kind = volume && volumeKind(volume);
    if (!volume || !kind || kind.kind === 'image')
      throw new Error(`cannot find the volume ${goQuote(volumeName)} referenced by FileKeyRef`);
    const rootDir = await realpath(this.#options.rootDir);
    const request = { volumePath: volumePath(rootDir, pod, volume, kind), path, maxBytes: maxEnvFileBytes };
    return (await this.#options.helper.call('readFile', request, { signal })).content;
  }
}

/** Sets one volume up. Undefined: it is as it should be. */
async function failureOf(context: VolumeContext, volume: Volume): Promise<VolumeFailure | undefined> {
  let kind: VolumeKind;
  try {
    kind = volumeKind(volume);
  } catch (err) {
    return { volume: volume.name, message: messageOf(err), state: 'unknown' };
  }
  const ended = startStorageOperationTimer('volume_mount');
  try {
    const isNew = await setUp(context, volume, kind);
    if (isNew) ended(pluginNameOf(kind), true);
    return undefined;
  } catch (err) {
    ended(pluginNameOf(kind), false);
    const isOutdated = isWrittenByKubelet(kind.kind) && (await hasPublishedFiles(context, volume.name, kind.kind));
    const message = `MountVolume.SetUp failed for volume ${goQuote(volume.name)} : ${messageOf(err)}`;
    return { volume: volume.name, message, state: isOutdated ? 'outdated' : 'missing' };
  }
}

/** Answers whether there was something to do: a folder that is there is not set up again, files are looked at each time. */
async function setUp(context: VolumeContext, volume: Volume, found: VolumeKind): Promise<boolean> {
  switch (found.kind) {
    case 'emptyDir':
      return setUpEmptyDir(context, volume.name, found.source);
    case 'hostPath':
      await setUpHostPath(context, found.source);
      return true;
    case 'downwardAPI':
    case 'projected':
    case 'configMap':
    case 'secret':
      await setUpKubeletWrittenVolume(context, volume.name, found);
      return true;
    case 'image':
      return false;
    default:
      return found satisfies never;
  }
}

/** Without a type the path is the runtime's to find out about. */
async function setUpHostPath(
  { helper, signal }: VolumeContext,
  { path, type }: { readonly path: string; readonly type?: string },
): Promise<void> {
  if (path.split('/').includes('..')) throw new Error(`invalid HostPath \`${path}\`: must not contain '..'`);
  if (!type) return;
  const { failure } = await helper.call('checkHostPath', { path, type }, { signal });
  if (failure !== null) throw new Error(failure);
}
