/**
 * Starts one container: its image, its config, the container itself, its postStart hook (upstream kuberuntime_container.go
 * startContainer).
 */
import type { RuntimePodStatus } from '../../../shared/contracts/runtime-status.ts';
import type { PullSecret } from '../../../shared/contracts/values.ts';
import type { ContainerConfig, ImageSpec, PodSandboxConfig } from '../../../shared/cri/generated/cri-v1.ts';
import { KubeletError } from '../../../shared/errors/kubelet-error.ts';
import type { Container, EphemeralContainer, Pod } from '../../../shared/kubernetes/api.ts';
import type { ContainerID, SandboxID } from '../../../shared/kubernetes/ids.ts';
import { supportsRecursiveReadOnly } from '../../../shared/kubernetes/recursive-read-only.ts';
import { newest } from '../compute-pod-actions/index.ts';
import type { TaskContext } from '../dependencies.ts';
import { podIPForHooks, runHook } from '../hooks/run-hook.ts';
import { killContainer } from '../kill/kill-container.ts';
import { makeContainerConfig, makeEnvironment, readEnvironmentValues, type HostFacts } from '../runtime-config/index.ts';
import { descriptionOf } from '../runtime/pod-runtime.ts';
import { createContainer } from './create-container.ts';
import { makeLogFolder } from './container-logs.ts';
import { countImageVolumes, ensureImage, ensureImageVolumes } from './ensure-image.ts';
import { linkContainerLog } from './link-log.ts';
import type { Prepared } from './prepare-first.ts';
import { runtimeHandlerOf } from './runtime-handler.ts';
import { StaleStatus } from './stale-status.ts';

export interface StartRequest {
  readonly pod: Pod;
  readonly container: Container | EphemeralContainer;
  readonly status: RuntimePodStatus | null;
  readonly sandboxID: SandboxID;
  readonly sandboxConfig: PodSandboxConfig;
  readonly podIPs: readonly string[];
  readonly host: HostFacts;
  /** From `readPullSecrets`. */
  readonly pullSecrets: readonly PullSecret[];
  /** Of the pod's first container, which may be another. */
  readonly ahead: Prepared | undefined;
}

/**
 * Rejects with KubeletError, whose reason is what the container then waits for (ErrImagePull, CreateContainerConfigError, RunContainerError,
 * …), with StaleStatus, or with Stopped. `onMade` is called as soon as the runtime has something of it.
 */
export async function startContainer(context: TaskContext, request: StartRequest, onMade: (id: ContainerID) => void): Promise<void> {
  const { container, sandboxID, sandboxConfig } = request;
  const wanted = { image: container.image ?? '', pullPolicy: container.imagePullPolicy };
  const imageRef = await (preparedOf(request)?.imageRef ?? ensureImage(context, request, wanted));
  const imageVolumes = await ensureImageVolumes(context, request);
  const config = await makeConfig(context, request, imageRef, imageVolumes).catch((err: unknown) => {
    throw failure(context, container.name, 'CreateContainerConfigError', err);
  });
  context.line.signal.throwIfAborted();
  const { id, started } = await context.line.withPermit('container', () =>
    createAndStart(context, { sandboxID, config, sandboxConfig, name: container.name, imageVolumes: imageVolumes.size }, onMade),
  );
  if (!started) return;
  await linkContainerLog(context, request, config, id);
  await runPostStart(context, request, id);
}

function preparedOf({ ahead, container }: StartRequest): Prepared | undefined {
  return ahead?.container === container.name ? ahead : undefined;
}

async function makeConfig(
  context: TaskContext,
  request: StartRequest,
  imageRef: string,
  imageVolumes: ReadonlyMap<string, ImageSpec>,
): Promise<ContainerConfig> {
  const { settings, node, volumes, runtime, line } = context;
  const { pod, container, podIPs, host } = request;
  const restartCount = await nextRestartCount(context, request);
  const targetContainerID = targetOf(request);
  const { signal } = line;
  const [envFiles, values] = await Promise.all([
    volumes.readEnvFiles(pod, container, signal),
    preparedOf(request)?.environment ?? readEnvironmentValues((refs) => line.values(refs), pod, container),
  ]);
  const env = makeEnvironment({ pod, container, node, settings, podIPs, envFiles, values });
  const supportsRRO = supportsRecursiveReadOnly(node.runtimeHandlers, runtimeHandlerOf(context));
  const [mounts, imageUser] = await Promise.all([
    volumes.makeContainerMounts({ pod, container, env, podIPs, supportsRecursiveReadOnly: supportsRRO, imageVolumes, signal }),
    runtime.imageUser(imageRef),
  ]);
  return makeContainerConfig({
    pod,
    container,
    node,
    settings,
    host,
    restartCount,
    imageRef,
    imageUser,
    env,
    mounts,
    ...(targetContainerID && { targetContainerID }),
  });
}

/**
 * 0 for the first; one more than the last instance, or than the logs tell when the runtime has forgotten it. Logs without a container may
 * also mean that it is the status which has not heard of it yet: then the runtime is asked.
 */
async function nextRestartCount(context: TaskContext, request: StartRequest): Promise<number> {
  const { pod, container, status, sandboxID } = request;
  const countByLogs = await (preparedOf(request)?.restartCount ?? makeLogFolder(context, pod, container));
  const last = newest(status, container.name);
  if (last) return last.restartCount + 1;
  if (countByLogs === 0) return 0;
  const [found] = await context.runtime.findContainers(sandboxID, container.name);
  if (found) throw new StaleStatus(`its container ${container.name} is there already`);
  return countByLogs;
}

/** The container whose processes an ephemeral one sees. */
function targetOf({ container, status }: StartRequest): ContainerID | undefined {
  const target = 'targetContainerName' in container ? container.targetContainerName : undefined;
  if (!target) return undefined;
  const found = newest(status, target);
  if (!found) throw new Error(`unable to find target container ${target}`);
  return found.id;
}

interface Creation {
  readonly sandboxID: SandboxID;
  readonly config: ContainerConfig;
  readonly sandboxConfig: PodSandboxConfig;
  readonly name: string;
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
  const { name, imageVolumes } = creation;
  const created = await createContainer(context, creation.sandboxID, creation.config, creation.sandboxConfig).catch((err: unknown) => {
    countImageVolumes(imageVolumes, err);
    throw failure(context, name, 'CreateContainerError', err);
  });
  countImageVolumes(imageVolumes);
  onMade(created.id);
  // A lost task has brought it this far: what it has done is not done again.
  if (created.hasRun) return { id: created.id, started: false };
  events.onContainer(name, 'Normal', 'Created', 'Container created', created.id);
  await runtime.startContainer(created.id).catch((err: unknown) => {
    throw failure(context, name, 'RunContainerError', err, created.id);
  });
  events.onContainer(name, 'Normal', 'Started', 'Container started', created.id);
  return { id: created.id, started: true };
}

function failure({ events, line }: TaskContext, container: string, reason: string, err: unknown, id = ''): Error {
  if (err instanceof StaleStatus || (line.signal.aborted && err === line.signal.reason)) return err as Error;
  const message = descriptionOf(err);
  events.onContainer(container, 'Warning', 'Failed', `Error: ${message}`, id);
  return new KubeletError(err instanceof KubeletError ? err.reason : reason, message, { cause: err });
}

/** A failed hook kills the container. A stop ends the wait for it: whoever stops this task goes on to end the pod. */
async function runPostStart(context: TaskContext, { container, podIPs }: StartRequest, id: ContainerID): Promise<void> {
  const handler = container.lifecycle?.postStart;
  if (!handler) return;
  const { name, ports = [] } = container;
  const podIP = podIPForHooks(context, podIPs);
  const { line, events, logger } = context;
  try {
    await runHook(context, { handler, containerID: id, container: name, ports, podIP }, 'PostStartHookError', line.signal);
  } catch (err) {
    line.signal.throwIfAborted();
    logger.warn({ err, container: name, containerID: id }, 'postStart hook failed');
    events.onContainer(name, 'Warning', 'FailedPostStartHook', 'PostStartHook failed', id);
    const kill = { id, name, message: 'FailedPostStartHook', reason: 'FailedPostStartHook', graceOverrideSeconds: null, podIP } as const;
    await killContainer(context, kill).catch((killErr: unknown) => {
      line.signal.throwIfAborted();
      logger.warn({ err: killErr, container: name, containerID: id }, 'cannot kill a container after its postStart hook failed');
    });
    throw err;
  }
}
