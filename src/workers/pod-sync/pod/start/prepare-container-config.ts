/** Reads all inputs of one container's config and makes it: environment, mounts, image user. */
import type { ContainerBackoff } from '../../../../shared/contracts/pod-sync/result.ts';
import type { PodObjectRef, PodObjectResult } from '../../../../shared/contracts/pod-objects.ts';
import type { RuntimePodStatus } from '../../../../shared/contracts/runtime-status.ts';
import type { ContainerConfig } from '../../../../shared/cri/generated/cri-v1.ts';
import type { Container, EphemeralContainer, Pod } from '../../../../shared/kubernetes/api.ts';
import type { ContainerID } from '../../../../shared/kubernetes/ids.ts';
import { supportsRecursiveReadOnly } from '../../../../shared/runtime/recursive-read-only.ts';
import { findContainerStatus } from '../compute-pod-actions/index.ts';
import type { TaskContext } from '../dependencies.ts';
import { LargeWorkError, maxLargeBytes, maxSmallBytes } from '../large-work.ts';
import { requestPodObjects } from '../pod-objects.ts';
import {
  expandedLength,
  makeContainerConfig,
  makeEnvironment,
  readEnvironmentObjects,
  type EnvironmentObjects,
  type EnvValue,
  type HostInfo,
} from '../runtime-config/index.ts';
import type { ContainerImages } from './ensure-image.ts';
import { runtimeHandlerOf } from './runtime-handler.ts';

export interface ConfigRequest {
  readonly pod: Pod;
  readonly container: Container | EphemeralContainer;
  readonly status: RuntimePodStatus | null;
  readonly hostInfo: HostInfo;
  /** Null when the IPs are not known yet. Then the config does not depend on them, and the hosts file is written later. */
  readonly podIPs: readonly string[] | null;
  /** The back-off after the container's next exit. Undefined before its first exit. */
  readonly restartBackOff?: ContainerBackoff | undefined;
}

export interface ConfigInputs {
  /** Null when the objects are large: they are read only when the config is made, with permission for large work. */
  readonly objects: EnvironmentObjects | null;
  readonly restartCount: number;
}

/**
 * The pod's volumes must be mounted. For a container with a large environment, the task then has the permission for large work, which the caller ends when the
 * container is created. Rejects with KubeletError, whose reason becomes the container's waiting reason, or with an Error.
 */
export async function prepareContainerConfig(
  context: TaskContext,
  request: ConfigRequest,
  { imageRef, imageVolumes }: ContainerImages,
  { objects, restartCount }: ConfigInputs,
): Promise<ContainerConfig> {
  const { settings, node, volumes, runtime, channel, allocation, largeWork } = context;
  const { pod, container, hostInfo, podIPs, restartBackOff } = request;
  const { signal } = channel;
  const targetContainerID = targetContainerIDOf(request);
  const readEnvFiles = (maxBytes: number) => volumes.readEnvFiles({ pod, container, maxBytes, signal });
  const smallFiles = await ifSmall(() => readEnvFiles(maxSmallBytes));
  if (!objects || !smallFiles) await largeWork.enter(container.name, signal);
  const envFiles = smallFiles ?? (await readEnvFiles(maxLargeBytes));
  const environmentObjects = objects ?? (await readEnvironmentObjects(largeRequest(context), pod, container));
  const env = makeEnvironment({ pod, container, node, settings, podIPs: podIPs ?? [], envFiles, objects: environmentObjects });
  if (isLarge(container, env)) await largeWork.enter(container.name, signal);
  const supportsRRO = supportsRecursiveReadOnly(node.runtimeHandlers, runtimeHandlerOf(context));
  const [mounts, imageUser] = await Promise.all([
    volumes.makeContainerMounts({
      pod,
      container,
      env,
      podIPs,
      restartCount,
      supportsRecursiveReadOnly: supportsRRO,
      imageVolumes,
      publishedVolumes: context.publishedVolumes,
      signal,
    }),
    runtime.imageUser(imageRef),
  ]);
  return makeContainerConfig({
    pod,
    container,
    node,
    settings,
    hostInfo,
    userNamespace: allocation.userNamespace,
    ...allocation.containers?.get(container.name),
    restartCount,
    imageRef,
    imageUser,
    env,
    mounts,
    ...(targetContainerID && { targetContainerID }),
    ...(restartBackOff && { restartBackOff }),
  });
}

/** Returns the objects of a container's environment; null when they are large. */
export function readSmallObjects({ channel }: TaskContext, { pod, container }: Pick<ConfigRequest, 'pod' | 'container'>) {
  return ifSmall(() => readEnvironmentObjects((refs) => requestPodObjects(channel, refs, maxSmallBytes), pod, container));
}

/** Returns null when the read object is large. */
async function ifSmall<T>(read: () => Promise<T>): Promise<T | null> {
  try {
    return await read();
  } catch (err) {
    if (err instanceof LargeWorkError) return null;
    throw err;
  }
}

function largeRequest({ channel }: TaskContext): (refs: readonly PodObjectRef[]) => Promise<readonly PodObjectResult[]> {
  return (refs) => requestPodObjects(channel, refs, maxLargeBytes);
}

function isLarge(container: Container | EphemeralContainer, env: readonly EnvValue[]): boolean {
  try {
    return expandedLength(container, env) > maxSmallBytes;
  } catch {
    // The command is too long: makeContainerConfig reports it.
    return false;
  }
}

/** Returns the container whose PID namespace an ephemeral container joins. */
function targetContainerIDOf({ container, status }: ConfigRequest): ContainerID | undefined {
  const target = 'targetContainerName' in container ? container.targetContainerName : undefined;
  if (!target) return undefined;
  const targetStatus = findContainerStatus(status, target);
  if (!targetStatus) throw new Error(`unable to find target container ${target}`);
  return targetStatus.id;
}
