/** One container's config: its environment, its mounts, and all else that the runtime makes it from. */
import type { RuntimePodStatus } from '../../../shared/contracts/runtime-status.ts';
import type { ContainerConfig } from '../../../shared/cri/generated/cri-v1.ts';
import type { Container, EphemeralContainer, Pod } from '../../../shared/kubernetes/api.ts';
import type { ContainerID } from '../../../shared/kubernetes/ids.ts';
import { supportsRecursiveReadOnly } from '../../../shared/kubernetes/recursive-read-only.ts';
import { findContainerStatus } from '../compute-pod-actions/index.ts';
import type { TaskContext } from '../dependencies.ts';
import { makeContainerConfig, makeEnvironment, type EnvironmentObjects, type HostInfo } from '../runtime-config/index.ts';
import type { ContainerImages } from './ensure-image.ts';
import { runtimeHandlerOf } from './runtime-handler.ts';

export interface ConfigRequest {
  readonly pod: Pod;
  readonly container: Container | EphemeralContainer;
  readonly status: RuntimePodStatus | null;
  readonly hostInfo: HostInfo;
  /** Null: not known yet. The config has nothing of them, and the hosts file is written when they are. */
  readonly podIPs: readonly string[] | null;
}

export interface ConfigInputs {
  readonly values: EnvironmentObjects;
  readonly restartCount: number;
}

/** The pod's volumes must be there. Rejects with KubeletError, whose reason is what the container waits for, or an Error. */
export async function prepareContainerConfig(
  context: TaskContext,
  request: ConfigRequest,
  { imageRef, imageVolumes }: ContainerImages,
  { values, restartCount }: ConfigInputs,
): Promise<ContainerConfig> {
  const { settings, node, volumes, runtime, channel } = context;
  const { pod, container, hostInfo, podIPs } = request;
  const { signal } = channel;
  const targetContainerID = targetOf(request);
  const envFiles = await volumes.readEnvFiles(pod, container, signal);
  const env = makeEnvironment({ pod, container, node, settings, podIPs: podIPs ?? [], envFiles, objects: values });
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
    restartCount,
    imageRef,
    imageUser,
    env,
    mounts,
    ...(targetContainerID && { targetContainerID }),
  });
}

/** The container whose processes an ephemeral one sees. */
function targetOf({ container, status }: ConfigRequest): ContainerID | undefined {
  const target = 'targetContainerName' in container ? container.targetContainerName : undefined;
  if (!target) return undefined;
  const found = findContainerStatus(status, target);
  if (!found) throw new Error(`unable to find target container ${target}`);
  return found.id;
}
