/** Makes one container's mounts: its volumes, /etc/hosts, and the file for its termination message (upstream makeMounts). */
import { chmod, mkdir, writeFile } from '../blocking-fs.ts';
import { join } from 'node:path';
import { type Mount, MountPropagation } from '../../../../shared/cri/generated/cri-v1.ts';
import { messageOf } from '../../../../shared/errors/kubelet-error.ts';
import type { Volume, VolumeMount } from '../../../../shared/kubernetes/api.ts';
import { goQuote } from '../../../../shared/kubernetes/go-text.ts';
import { podContainerDir, subpathTarget } from '../../../../shared/kubernetes/paths.ts';
import { recursiveReadOnly } from '../../../../shared/runtime/recursive-read-only.ts';
import type { PodHostname } from '../runtime-config/hostname.ts';
import { createEmptyHostsFile, writeHostsFile } from './etc-hosts.ts';
import { iterateWithYields } from './iterate-with-yields.ts';
import { toMountPropagation, resolveSubPath } from './mount-options.ts';
import type { ContainerMountsInput, PodVolumesOptions } from './pod-volumes-inputs.ts';
import { findPlugin } from './plugins/volume-plugins.ts';

type Context = ContainerMountsInput & PodVolumesOptions & { readonly hostname: PodHostname };

const etcHosts = '/etc/hosts';

/** Rejects with an Error. Its message reveals nothing about the host's files behind a subPath; the log has the cause. */
export async function makeContainerMounts(context: Context): Promise<Mount[]> {
  const { pod, container, podIPs } = context;
  const mounts: Mount[] = [];
  const volumes = new Map((pod.spec.volumes ?? []).map((volume) => [volume.name, volume]));
  for await (const [index, volumeMount] of iterateWithYields((container.volumeMounts ?? []).entries())) {
    context.signal?.throwIfAborted();
    mounts.push(await makeVolumeMount(context, volumeMount, volumes.get(volumeMount.name), index));
  }
  const hasHosts =
    (podIPs === null || podIPs.length > 0 || pod.spec.hostNetwork === true) &&
    !(container.volumeMounts ?? []).some(({ mountPath }) => mountPath === etcHosts);
  if (hasHosts) {
    const hostPath = podIPs
      ? await writeHostsFile(context.rootDir, pod, podIPs, context.hostname)
      : await createEmptyHostsFile(context.rootDir, pod);
    mounts.push(toMount({ containerPath: etcHosts, hostPath, selinuxRelabel: context.selinuxEnabled }));
  }
  const message = await terminationMessageMount(context);
  return message ? [...mounts, message] : mounts;
}

async function makeVolumeMount(context: Context, mount: VolumeMount, volume: Volume | undefined, index: number): Promise<Mount> {
  const { pod, container, env, rootDir, imageVolumes, publishedVolumes } = context;
  if (!volume) throw new Error(`cannot find volume ${goQuote(mount.name)} to mount into container ${goQuote(container.name)}`);
  const { plugin, source } = findPlugin(volume);
  const subPath = resolveSubPath(mount, env);
  const target = subpathTarget(rootDir, pod.metadata.uid, volume.name, container.name, index);
  const { readonly, selinuxRelabel, ...fields } = await plugin.containerMount(
    {
      rootDir,
      podUID: pod.metadata.uid,
      volume: volume.name,
      subPath,
      bindSubPath: (volumePath, { create }) => bindSubPath(context, volume.name, { volumePath, subPath, target, create }),
      pulledImage: imageVolumes?.get(volume.name),
      publishedVolume: publishedVolumes?.get(volume.name),
    },
    source,
  );
  return toMount({
    ...fields,
    containerPath: toAbsolute(mount.mountPath),
    readonly: mount.readOnly === true || readonly,
    recursiveReadOnly: recursiveReadOnly(mount, context.supportsRecursiveReadOnly),
    propagation: toMountPropagation(mount.mountPropagation),
    selinuxRelabel: context.selinuxEnabled && selinuxRelabel,
    mountOptions: [...(mount.bindMountOptions ?? [])],
  });
}

/** The request to the helper that bind-mounts `subPath` of the volume at `target`. */
interface SubPath {
  readonly volumePath: string;
  readonly subPath: string;
  readonly target: string;
  readonly create: boolean;
}

async function bindSubPath({ container, helper, logger, signal }: Context, volume: string, request: SubPath): Promise<string> {
  const { volumePath, subPath, target } = request;
  if (subPath === '') return volumePath;
  try {
    await helper.call('bindSubpath', request, { signal });
  } catch (err) {
    signal?.throwIfAborted();
    // Only the log has the cause: the error message must not let a user explore the host's files with subPaths.
    logger.error({ container: container.name, volume, subPath, err: messageOf(err) }, 'subPath not prepared');
    // oxlint-disable-next-line preserve-caught-error
    throw new Error(`failed to prepare subPath for volumeMount ${goQuote(volume)} of container ${goQuote(container.name)}`);
  }
  return target;
}

/**
 * Creates a file for each instance of the container, or empties the file when the start is repeated. The file's name is the restart count with eight hex
 * digits, as many as upstream's random names have. Without the file the container still starts, as upstream.
 */
async function terminationMessageMount({
  rootDir,
  pod,
  container,
  restartCount,
  logger,
  selinuxEnabled,
}: Context): Promise<Mount | undefined> {
  if (!container.terminationMessagePath) return undefined;
  const folder = podContainerDir(rootDir, pod.metadata.uid, container.name);
  const hostPath = join(folder, restartCount.toString(16).padStart(8, '0'));
  try {
    await mkdir(folder, { recursive: true, mode: 0o750 });
    await writeFile(hostPath, '');
    await chmod(hostPath, 0o666);
  } catch (err) {
    logger.error({ container: container.name, path: hostPath, err: messageOf(err) }, 'termination message file not created');
    return undefined;
  }
  return toMount({ containerPath: toAbsolute(container.terminationMessagePath), hostPath, selinuxRelabel: selinuxEnabled });
}

function toAbsolute(path: string): string {
  return path.startsWith('/') ? path : `/${path}`;
}

function toMount(fields: Partial<Mount>): Mount {
  return {
    containerPath: '',
    hostPath: '',
    readonly: false,
    selinuxRelabel: false,
    propagation: MountPropagation.PROPAGATION_PRIVATE,
    uidMappings: [],
    gidMappings: [],
    recursiveReadOnly: false,
    image: undefined,
    imageSubPath: '',
    mountOptions: [],
    ...fields,
  };
}
