/**
 * What a new pod's first container needs besides the sandbox, had while the sandbox is made: its images, what its environment takes, its
 * log folder, and from these its config. Most configs don't name the addresses of the sandbox: then the runtime is asked for the container
 * as soon as there is a sandbox.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { SyncPodTask } from '../../../shared/contracts/pod-sync.ts';
import type { PullSecret } from '../../../shared/contracts/pod-objects.ts';
import type { ContainerConfig } from '../../../shared/cri/generated/cri-v1.ts';
import type { PodActions } from '../compute-pod-actions/index.ts';
import type { TaskContext } from '../dependencies.ts';
import { namesPodIPs, readEnvironmentValues, type HostFacts } from '../runtime-config/index.ts';
import { makeLogFolder } from './container-logs.ts';
import { ensureImages, type ContainerImages } from './ensure-image.ts';
import { makeConfig, type ConfigInputs } from './prepare-container-config.ts';
import { readPullSecrets } from './pull-secrets.ts';

/** Each may reject; nobody need listen. */
export interface Prepared {
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
export function prepareFirst(
  context: TaskContext,
  { pod, status }: SyncPodTask,
  actions: PodActions,
  volumes: Promise<void>,
  host: Promise<HostFacts>,
): Prepared | undefined {
  const name = actions.initContainersToStart[0] ?? actions.containersToStart[0];
  const container = [...(pod.spec.initContainers ?? []), ...pod.spec.containers].find((one) => one.name === name);
  if (!container) return undefined;
  // The request for the sandbox goes first.
  const turn = nextTurn();
  const pullSecrets = turn.then(() => readPullSecrets(context, pod));
  const images = pullSecrets.then((secrets) => ensureImages(context, { pod, container, pullSecrets: secrets }));
  // Known by the time that it is asked for.
  const imageUser = images.then(({ imageRef }) => context.runtime.imageUser(imageRef));
  const inputs = turn.then(async () => ({
    values: await readEnvironmentValues((refs) => context.line.podObjects(refs), pod, container),
    restartCount: await makeLogFolder(context, pod, container),
  }));
  const makeAhead = async () => {
    const [found, given, facts] = await Promise.all([images, inputs, host, volumes]);
    return makeConfig(context, { pod, container, status, host: facts, podIPs: null }, found, given);
  };
  const config = pod.spec.hostNetwork || namesPodIPs(container) ? undefined : makeAhead();
  let isReady = false;
  config?.then(() => (isReady = true)).catch(() => {});
  for (const promise of [pullSecrets, images, imageUser, inputs]) promise.catch(() => {});
  return { container: container.name, pullSecrets, images, inputs, config, isReady: () => isReady };
}
