/**
 * Starts one container: pulls its image, makes its config, creates and starts it, runs its postStart hook (upstream
 * kuberuntime_container.go startContainer).
 */
import type { ContainerBackoff } from '../../../../shared/contracts/pod-sync/result.ts';
import type { RuntimePodStatus } from '../../../../shared/contracts/runtime-status.ts';
import type { PullSecret } from '../../../../shared/registry-credentials/keyring.ts';
import type { ContainerConfig, PodSandboxConfig } from '../../../../shared/cri/generated/cri-v1.ts';
import { KubeletError } from '../../../../shared/errors/kubelet-error.ts';
import type { Container, EphemeralContainer, Pod } from '../../../../shared/kubernetes/api.ts';
import type { ContainerID, SandboxID } from '../../../../shared/kubernetes/ids.ts';
import { findContainerStatus } from '../compute-pod-actions/index.ts';
import type { TaskContext } from '../dependencies.ts';
import { beginPhase, inPhase } from '../in-phase.ts';
import type { HostInfo } from '../runtime-config/index.ts';
import { descriptionOf } from '../pod-runtime.ts';
import { recordStart } from '../resize/index.ts';
import { createContainer } from './create-container.ts';
import { makeLogFolder } from './container-log-folder.ts';
import { countImageVolumes, ensureImages, type ContainerImages } from './ensure-image.ts';
import { linkContainerLog } from './link-container-log.ts';
import { isPostStartUnfinished, recordPostStart, removePostStartRecord } from './post-start-record.ts';
import { runPostStart } from './run-post-start.ts';
import { prepareContainerConfig, readSmallObjects } from './prepare-container-config.ts';
import type { PreparedContainer } from './prepare-first-container.ts';
import { removeUnstarted } from './remove-unstarted.ts';
import { StaleStatusError } from './stale-status.ts';

export interface ContainerStart {
  readonly pod: Pod;
  readonly container: Container | EphemeralContainer;
  readonly status: RuntimePodStatus | null;
  readonly sandboxID: SandboxID;
  readonly sandboxConfig: PodSandboxConfig;
  /** The sandbox's IPs. Undefined when they could not be read; the report has the reason. */
  readonly podIPs: Promise<readonly string[] | undefined>;
  readonly hostInfo: HostInfo;
  /** From `readPullSecrets`. */
  readonly pullSecrets: readonly PullSecret[];
  /** Set when the container was prepared while the sandbox was created. */
  readonly prepared: PreparedContainer | undefined;
  /** The back-off after the container's next exit. Undefined before its first exit. */
  readonly restartBackOff?: ContainerBackoff | undefined;
}

/**
 * Rejects with KubeletError, whose reason becomes the container's waiting reason (ErrImagePull, CreateContainerConfigError,
 * RunContainerError, …), with StaleStatusError, or with Stopped. `onCreated` is called as soon as the runtime has the container.
 */
export async function startContainer(context: TaskContext, request: ContainerStart, onCreated: (id: ContainerID) => void): Promise<void> {
  const { container, prepared } = request;
  const images = await (prepared?.images ?? ensureImages(context, request));
  const startWithConfig = async () => {
    const config = await (prepared?.takeConfig() ?? makeConfig(context, request, images)).catch((err: unknown) => {
      throw toStartError(context, container.name, 'CreateContainerConfigError', err);
    });
    context.channel.signal.throwIfAborted();
    await recordStart(context, request.pod, container);
    // The wait for the permit is part of the phase.
    const endCreation = beginPhase(context, 'Create', { container: container.name });
    const creation = { request, config, imageVolumes: images.imageVolumes.size, endCreation };
    const created = await context.channel.withPermit('container', () => createAndStart(context, creation, onCreated));
    if (created.started) await linkContainerLog(context, request, config, created.id);
    return created;
  };
  // The config, which may be large, is out of scope before the hook runs, and so is the permission for large work.
  const { id, hookDue } = await startWithConfig().finally(() => context.largeWork.leave(container.name));
  if (hookDue) await runPostStart(context, container, id, await request.podIPs);
}

async function makeConfig(context: TaskContext, request: ContainerStart, images: ContainerImages): Promise<ContainerConfig> {
  const { pod, container, prepared } = request;
  const podIPs = (await request.podIPs) ?? [];
  const restartCount = await nextRestartCount(context, request);
  const inputs = prepared?.inputs ?? { objects: await readSmallObjects(context, { pod, container }) };
  return prepareContainerConfig(context, { ...request, podIPs }, images, { ...(await inputs), restartCount });
}

/**
 * Returns 0 for the first instance, else one more than the last instance. When the runtime has forgotten the instances, the log files give
 * the count. Logs without a container may also mean that the status is stale, so the runtime is queried.
 */
async function nextRestartCount(context: TaskContext, request: ContainerStart): Promise<number> {
  const { pod, container, status, sandboxID, prepared } = request;
  const countFromLogs = (await prepared?.inputs)?.restartCount ?? (await makeLogFolder(context, pod, container));
  const lastStatus = findContainerStatus(status, container.name);
  if (lastStatus) return lastStatus.restartCount + 1;
  if (countFromLogs === 0) return 0;
  const [found] = await context.runtime.findContainers(sandboxID, container.name);
  if (found) throw new StaleStatusError(`its container ${container.name} exists already`);
  return countFromLogs;
}

interface Creation {
  readonly request: ContainerStart;
  readonly config: ContainerConfig;
  /** The number of images that the container mounts. */
  readonly imageVolumes: number;
  readonly endCreation: ReturnType<typeof beginPhase>;
}

interface StartedContainer {
  readonly id: ContainerID;
  /** This task has started the container. */
  readonly started: boolean;
  /** The container has a postStart hook that must run now: for the first time, or again after an interruption. */
  readonly hookDue: boolean;
}

/** A stop of the task does not interrupt this step: a created container is always started, unless the start fails. */
async function createAndStart(context: TaskContext, creation: Creation, onCreated: (id: ContainerID) => void): Promise<StartedContainer> {
  const { runtime, events } = context;
  const { request, config, imageVolumes, endCreation } = creation;
  const { name } = request.container;
  // A prepared config does not contain the pod's IPs. The hosts file is needed only when the container starts: write it during the creation.
  const hostsWritten = request.prepared?.hasConfig ? writeHostsFile(context, request) : Promise.resolve(true);
  hostsWritten.catch(() => {});
  const create = async () => {
    await removeUnstarted(context, request.status, request.sandboxID, name);
    return createContainer(context, request.sandboxID, config, request.sandboxConfig);
  };
  const created = await create().catch((err: unknown) => {
    countImageVolumes(imageVolumes, err);
    endCreation('failed');
    throw toStartError(context, name, 'CreateContainerError', err);
  });
  countImageVolumes(imageVolumes);
  endCreation('end');
  onCreated(created.id);
  // A lost task has created and started it. Its events are not repeated, and its hook only when the hook has not ended.
  if (created.hasRun)
    return { id: created.id, started: false, hookDue: created.isRunning && (await isPostStartUnfinished(context, created.id)) };
  events.onContainer(name, 'Normal', 'Created', 'Container created', created.id);
  if (!(await awaitHostsFile(context, created.id, hostsWritten))) return { id: created.id, started: false, hookDue: false };
  const hasHook = request.container.lifecycle?.postStart !== undefined;
  if (hasHook) await recordPostStart(context, created.id);
  await inPhase(context, 'Start', { container: name }, () => runtime.startContainer(created.id)).catch(async (err: unknown) => {
    if (hasHook) await removePostStartRecord(context, created.id);
    throw toStartError(context, name, 'RunContainerError', err, created.id);
  });
  events.onContainer(name, 'Normal', 'Started', 'Container started', created.id);
  return { id: created.id, started: true, hookDue: hasHook };
}

/** Returns false when the pod's IPs could not be read. */
async function writeHostsFile(context: TaskContext, { pod, container, podIPs }: ContainerStart): Promise<boolean> {
  const ips = await podIPs;
  if (!ips) return false;
  await context.volumes.writeHostsFile(pod, ips).catch((err: unknown) => {
    throw toStartError(context, container.name, 'CreateContainerConfigError', err);
  });
  return true;
}

/** Removes the created container when its hosts file could not be written. A container that never runs must not count as an instance. */
async function awaitHostsFile({ runtime, logger }: TaskContext, id: ContainerID, hostsWritten: Promise<boolean>): Promise<boolean> {
  let isWritten = false;
  try {
    isWritten = await hostsWritten;
  } finally {
    if (!isWritten) {
      await runtime
        .removeContainer(id)
        .catch((err: unknown) => logger.warn({ err, containerID: id }, 'cannot remove a container that was not started'));
    }
  }
  return isWritten;
}

function toStartError({ events, channel }: TaskContext, container: string, reason: string, err: unknown, id = ''): Error {
  if (err instanceof StaleStatusError || (channel.signal.aborted && err === channel.signal.reason)) return err as Error;
  const message = descriptionOf(err);
  events.onContainer(container, 'Warning', 'Failed', `Error: ${message}`, id);
  return new KubeletError(err instanceof KubeletError ? err.reason : reason, message, { cause: err });
}
