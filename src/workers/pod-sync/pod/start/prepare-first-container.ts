/**
 * Prepares a new pod's first container while its sandbox is created: its images, the objects of its environment, its log folder, and from
 * these its config. Most configs do not contain the pod's IPs, so that such a container is created as soon as the sandbox exists.
 */
import { setImmediate as nextIteration } from 'node:timers/promises';
import type { SyncPodTask } from '../../../../shared/contracts/pod-sync/task.ts';
import type { ContainerConfig } from '../../../../shared/cri/generated/cri-v1.ts';
import type { ContainersToStart } from '../compute-pod-actions/index.ts';
import type { TaskContext } from '../dependencies.ts';
import { usesPodIPs, type HostInfo } from '../runtime-config/index.ts';
import { makeLogFolder } from './container-log-folder.ts';
import { ensureImages, type ContainerImages } from './ensure-image.ts';
import { prepareContainerConfig, readSmallObjects, type ConfigInputs } from './prepare-container-config.ts';
import { readPullSecrets, type PullSecrets } from './pull-secrets.ts';

/** Every promise may reject. A promise that nobody awaits causes no unhandled rejection. */
export interface PreparedContainer {
  readonly container: string;
  readonly pullSecrets: Promise<PullSecrets>;
  readonly images: Promise<ContainerImages>;
  readonly inputs: Promise<ConfigInputs>;
  /** False when the config needs the pod's IPs. */
  readonly hasConfig: boolean;
  /** Returns the config, and forgets it, so that its memory is free once the container is created. Undefined without a config, and in later calls. */
  takeConfig(): Promise<ContainerConfig> | undefined;
  /** True once the config is made. */
  isReady(): boolean;
}

/**
 * Returns undefined when the pod has no container to start.
 * @param volumes settles when the pod's volumes are mounted
 * @param hostInfo also the input of the sandbox's config
 */
export function prepareFirstContainer(
  context: TaskContext,
  { pod, status }: SyncPodTask,
  actions: ContainersToStart,
  volumes: Promise<void>,
  hostInfo: Promise<HostInfo>,
): PreparedContainer | undefined {
  const name = actions.initContainersToStart[0] ?? actions.containersToStart[0];
  const container = [...(pod.spec.initContainers ?? []), ...pod.spec.containers].find((one) => one.name === name);
  if (!container) return undefined;
  // Waits one iteration of the event loop, so that the sandbox's request to the runtime is sent first.
  const sandboxRequested = nextIteration();
  const pullSecrets = sandboxRequested.then(() => readPullSecrets(context, pod));
  const images = pullSecrets.then(({ found }) => ensureImages(context, { pod, container, pullSecrets: found }));
  // Fills the cache of `imageUser`, which the config reads.
  const imageUser = images.then(({ imageRef }) => context.runtime.imageUser(imageRef));
  const inputs = sandboxRequested.then(async () => ({
    objects: await readSmallObjects(context, { pod, container }),
    restartCount: await makeLogFolder(context, pod, container),
  }));
  const makeConfig = async () => {
    const [containerImages, configInputs, info] = await Promise.all([images, inputs, hostInfo, volumes]);
    return prepareContainerConfig(context, { pod, container, status, hostInfo: info, podIPs: null }, containerImages, configInputs);
  };
  let config = pod.spec.hostNetwork || usesPodIPs(container) ? undefined : makeConfig();
  let isReady = false;
  config?.then(() => (isReady = true)).catch(() => {});
  for (const promise of [pullSecrets, images, imageUser, inputs]) promise.catch(() => {});
  const takeConfig = () => {
    const taken = config;
    config = undefined;
    return taken;
  };
  return { container: container.name, pullSecrets, images, inputs, hasConfig: config !== undefined, takeConfig, isReady: () => isReady };
}
