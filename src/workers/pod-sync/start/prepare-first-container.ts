/**
 * What a new pod's first container needs besides the sandbox, had while the sandbox is made: its images, what its environment takes, its
 * log folder, and from these its config. Most configs don't name the addresses of the sandbox: then the runtime is asked for the container
 * as soon as there is a sandbox.
 */
import { setImmediate as nextIteration } from 'node:timers/promises';
import type { SyncPodTask } from '../../../shared/contracts/pod-sync/task.ts';
import type { PullSecret } from '../../../shared/contracts/pod-objects.ts';
import type { ContainerConfig } from '../../../shared/cri/generated/cri-v1.ts';
import type { PodActions } from '../compute-pod-actions/index.ts';
import type { TaskContext } from '../dependencies.ts';
import { usesPodIPs, readEnvironmentObjects, type HostInfo } from '../runtime-config/index.ts';
import { makeLogFolder } from './container-logs.ts';
import { ensureImages, type ContainerImages } from './ensure-image.ts';
import { prepareContainerConfig, type ConfigInputs } from './prepare-container-config.ts';
import { readPullSecrets } from './pull-secrets.ts';

/** Each may reject; nobody need listen. */
export interface PreparedContainer {
  readonly container: string;
  readonly pullSecrets: Promise<readonly PullSecret[]>;
  readonly images: Promise<ContainerImages>;
  readonly inputs: Promise<ConfigInputs>;
  /** Undefined: it has to wait for the sandbox's addresses. */
  readonly config: Promise<ContainerConfig> | undefined;
  /** The config is there. */
  isReady(): boolean;
}

/** Undefined: the pod has no container to be started. `volumes` settles when they are there. `host` is as the sandbox's config has it. */
export function prepareFirstContainer(
  context: TaskContext,
  { pod, status }: SyncPodTask,
  actions: PodActions,
  volumes: Promise<void>,
  hostInfo: Promise<HostInfo>,
): PreparedContainer | undefined {
  const name = actions.initContainersToStart[0] ?? actions.containersToStart[0];
  const container = [...(pod.spec.initContainers ?? []), ...pod.spec.containers].find((one) => one.name === name);
  if (!container) return undefined;
  // The request for the sandbox goes first.
  const turn = nextIteration();
  const pullSecrets = turn.then(() => readPullSecrets(context, pod));
  const images = pullSecrets.then((secrets) => ensureImages(context, { pod, container, pullSecrets: secrets }));
  // Known by the time that it is asked for.
  const imageUser = images.then(({ imageRef }) => context.runtime.imageUser(imageRef));
  const inputs = turn.then(async () => ({
    values: await readEnvironmentObjects((refs) => context.channel.podObjects(refs), pod, container),
    restartCount: await makeLogFolder(context, pod, container),
  }));
  const makeAhead = async () => {
    const [found, given, info] = await Promise.all([images, inputs, hostInfo, volumes]);
    return prepareContainerConfig(context, { pod, container, status, hostInfo: info, podIPs: null }, found, given);
  };
  const config = pod.spec.hostNetwork || usesPodIPs(container) ? undefined : makeAhead();
  let isReady = false;
  config?.then(() => (isReady = true)).catch(() => {});
  for (const promise of [pullSecrets, images, imageUser, inputs]) promise.catch(() => {});
  return { container: container.name, pullSecrets, images, inputs, config, isReady: () => isReady };
}
