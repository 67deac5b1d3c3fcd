/**
 * Starts one container: its image, its config, the container itself, its postStart hook (upstream kuberuntime_container.go
 * startContainer).
 */
import type { RuntimePodStatus } from '../../../shared/contracts/runtime-status.ts';
import type { PullSecret } from '../../../shared/contracts/pod-objects.ts';
import type { ContainerConfig, PodSandboxConfig } from '../../../shared/cri/generated/cri-v1.ts';
import { KubeletError } from '../../../shared/errors/kubelet-error.ts';
import type { Container, EphemeralContainer, Pod } from '../../../shared/kubernetes/api.ts';
import type { ContainerID, SandboxID } from '../../../shared/kubernetes/ids.ts';
import { findContainerStatus } from '../compute-pod-actions/index.ts';
import type { TaskContext } from '../dependencies.ts';
import { podIPForHooks, runHook } from '../hooks/run-hook.ts';
import { killContainer } from '../kill/kill-container.ts';
import { readEnvironmentObjects, type HostInfo } from '../runtime-config/index.ts';
import { descriptionOf } from '../pod-runtime.ts';
import { createContainer } from './create-container.ts';
import { makeLogFolder } from './container-logs.ts';
import { countImageVolumes, ensureImages, type ContainerImages } from './ensure-image.ts';
import { linkContainerLog } from './link-container-log.ts';
import { prepareContainerConfig } from './prepare-container-config.ts';
import type { PreparedContainer } from './prepare-first-container.ts';
import { StaleStatusError } from './stale-status.ts';

export interface StartRequest {
  readonly pod: Pod;
  readonly container: Container | EphemeralContainer;
  readonly status: RuntimePodStatus | null;
  readonly sandboxID: SandboxID;
  readonly sandboxConfig: PodSandboxConfig;
  /** Of the sandbox. Undefined: they could not be had, and the report says why. */
  readonly podIPs: Promise<readonly string[] | undefined>;
  readonly hostInfo: HostInfo;
  /** From `readPullSecrets`. */
  readonly pullSecrets: readonly PullSecret[];
  /** What was had of it while the sandbox was made. */
  readonly prepared: PreparedContainer | undefined;
}

/**
 * Rejects with KubeletError, whose reason is what the container then waits for (ErrImagePull, CreateContainerConfigError, RunContainerError,
 * …), with StaleStatus, or with Stopped. `onMade` is called as soon as the runtime has something of it.
 */
export async function startContainer(context: TaskContext, request: StartRequest, onMade: (id: ContainerID) => void): Promise<void> {
  const { container, prepared } = request;
  const images = await (prepared?.images ?? ensureImages(context, request));
  const config = await (prepared?.config ?? configOf(context, request, images)).catch((err: unknown) => {
    throw failure(context, container.name, 'CreateContainerConfigError', err);
  });
  context.channel.signal.throwIfAborted();
  const creation = { request, config, imageVolumes: images.imageVolumes.size };
  const { id, started } = await context.channel.withPermit('container', () => createAndStart(context, creation, onMade));
  if (!started) return;
  await linkContainerLog(context, request, config, id);
  await runPostStart(context, request, id);
}

async function configOf(context: TaskContext, request: StartRequest, images: ContainerImages): Promise<ContainerConfig> {
  const { pod, container, prepared } = request;
  const podIPs = (await request.podIPs) ?? [];
  const restartCount = await nextRestartCount(context, request);
  const inputs = prepared?.inputs ?? {
    values: await readEnvironmentObjects((refs) => context.channel.podObjects(refs), pod, container),
  };
  return prepareContainerConfig(context, { ...request, podIPs }, images, { ...(await inputs), restartCount });
}

/**
 * 0 for the first; one more than the last instance, or than the logs tell when the runtime has forgotten it. Logs without a container may
 * also mean that it is the status which has not heard of it yet: then the runtime is asked.
 */
async function nextRestartCount(context: TaskContext, request: StartRequest): Promise<number> {
  const { pod, container, status, sandboxID, prepared } = request;
  const countByLogs = (await prepared?.inputs)?.restartCount ?? (await makeLogFolder(context, pod, container));
  const last = findContainerStatus(status, container.name);
  if (last) return last.restartCount + 1;
  if (countByLogs === 0) return 0;
  const [found] = await context.runtime.findContainers(sandboxID, container.name);
  if (found) throw new StaleStatusError(`its container ${container.name} is there already`);
  return countByLogs;
}

interface Creation {
  readonly request: StartRequest;
  readonly config: ContainerConfig;
  /** How many images it mounts. */
  readonly imageVolumes: number;
}

/** One step for those who may stop it: a container that was created is always started, or the start has failed. */
async function createAndStart(
  context: TaskContext,
  creation: Creation,
  onMade: (id: ContainerID) => void,
): Promise<{ id: ContainerID; started: boolean }> {
  const { runtime, events } = context;
  const { request, config, imageVolumes } = creation;
  const { name } = request.container;
  // A config that was made ahead has no addresses. Beside its creation: the file is mounted when it starts.
  const hasHosts = request.prepared?.config ? writeHosts(context, request) : Promise.resolve(true);
  hasHosts.catch(() => {});
  const created = await createContainer(context, request.sandboxID, config, request.sandboxConfig).catch((err: unknown) => {
    countImageVolumes(imageVolumes, err);
    throw failure(context, name, 'CreateContainerError', err);
  });
  countImageVolumes(imageVolumes);
  onMade(created.id);
  // A lost task has brought it this far: what it has done is not done again.
  if (created.hasRun) return { id: created.id, started: false };
  events.onContainer(name, 'Normal', 'Created', 'Container created', created.id);
  if (!(await orRemoved(context, created.id, hasHosts))) return { id: created.id, started: false };
  await runtime.startContainer(created.id).catch((err: unknown) => {
    throw failure(context, name, 'RunContainerError', err, created.id);
  });
  events.onContainer(name, 'Normal', 'Started', 'Container started', created.id);
  return { id: created.id, started: true };
}

/** Answers whether there were addresses to write. */
async function writeHosts(context: TaskContext, { pod, container, podIPs }: StartRequest): Promise<boolean> {
  const known = await podIPs;
  if (!known) return false;
  await context.volumes.writeHostsFile(pod, known).catch((err: unknown) => {
    throw failure(context, container.name, 'CreateContainerConfigError', err);
  });
  return true;
}

/** Without its hosts file a container does not start. Nor is it kept: it would count as an instance. */
async function orRemoved({ runtime, logger }: TaskContext, id: ContainerID, hasHosts: Promise<boolean>): Promise<boolean> {
  let isReady = false;
  try {
    isReady = await hasHosts;
  } finally {
    if (!isReady) {
      await runtime.removeContainer(id).catch((err: unknown) => logger.warn({ err, containerID: id }, 'cannot remove a container again'));
    }
  }
  return isReady;
}

function failure({ events, channel }: TaskContext, container: string, reason: string, err: unknown, id = ''): Error {
  if (err instanceof StaleStatusError || (channel.signal.aborted && err === channel.signal.reason)) return err as Error;
  const message = descriptionOf(err);
  events.onContainer(container, 'Warning', 'Failed', `Error: ${message}`, id);
  return new KubeletError(err instanceof KubeletError ? err.reason : reason, message, { cause: err });
}

/** A failed hook kills the container. A stop ends the wait for it: whoever stops this task goes on to end the pod. */
async function runPostStart(context: TaskContext, { container, podIPs }: StartRequest, id: ContainerID): Promise<void> {
  const handler = container.lifecycle?.postStart;
  if (!handler) return;
  const { name, ports = [] } = container;
  const podIP = podIPForHooks(context, (await podIPs) ?? []);
  const { channel, events, logger } = context;
  try {
    await runHook(context, { handler, containerID: id, container: name, ports, podIP }, 'PostStartHookError', channel.signal);
  } catch (err) {
    channel.signal.throwIfAborted();
    logger.warn({ err, container: name, containerID: id }, 'postStart hook failed');
    events.onContainer(name, 'Warning', 'FailedPostStartHook', 'PostStartHook failed', id);
    const kill = { id, name, message: 'FailedPostStartHook', reason: 'FailedPostStartHook', graceOverrideSeconds: null, podIP } as const;
    await killContainer(context, kill).catch((killErr: unknown) => {
      channel.signal.throwIfAborted();
      logger.warn({ err: killErr, container: name, containerID: id }, 'cannot kill a container after its postStart hook failed');
    });
    throw err;
  }
}
