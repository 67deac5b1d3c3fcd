/**
 * The calls to the container runtime that a sync needs, each with its deadline. The deadlines are upstream's
 * (staging/src/k8s.io/cri-client/pkg/remote_runtime.go).
 */
import type { CriClient } from '../../../shared/cri/client.ts';
import { CriError, isUnimplemented } from '../../../shared/cri/cri-error.ts';
import {
  ContainerState,
  PodSandboxState,
  type ContainerConfig,
  type LinuxContainerResources,
  type PodSandboxConfig,
  type PodSandboxStatus,
} from '../../../shared/cri/generated/cri-v1.ts';
import { containerNameLabel, podUIDLabel } from '../../../shared/kubernetes/annotations.ts';
import { goQuote } from '../../../shared/kubernetes/go-text.ts';
import type { ContainerID, PodUID, SandboxID } from '../../../shared/kubernetes/ids.ts';
import { monotonicMs } from '../../../shared/time/clock.ts';

export interface FoundSandbox {
  readonly id: SandboxID;
  readonly attempt: number;
  readonly ready: boolean;
}

export interface FoundContainer {
  readonly id: ContainerID;
  readonly attempt: number;
  readonly state: 'created' | 'running' | 'exited' | 'unknown';
}

/** The resources of a pod's cgroup. */
export interface SandboxResources {
  /** Without the pod's overhead. */
  readonly resources: LinuxContainerResources;
  /** The pod's overhead alone. */
  readonly overhead: LinuxContainerResources;
}

export interface ExecResult {
  readonly exitCode: number;
  /** Standard output, then standard error. */
  readonly output: string;
}

/** All calls reject with CriError. Stopping or removing an object that the runtime no longer has succeeds. */
export interface PodRuntime {
  /** Rejects when the signal aborts, which also cancels the call in the runtime. */
  runPodSandbox(config: PodSandboxConfig, runtimeHandler: string, signal: AbortSignal): Promise<SandboxID>;
  podSandboxStatus(id: SandboxID): Promise<PodSandboxStatus>;
  stopPodSandbox(id: SandboxID): Promise<void>;
  removePodSandbox(id: SandboxID): Promise<void>;
  /** Only for the recovery from a lost task: regular lists of the runtime belong to the pleg thread. */
  findSandboxes(podUID: PodUID): Promise<FoundSandbox[]>;
  createContainer(sandboxID: SandboxID, config: ContainerConfig, sandboxConfig: PodSandboxConfig): Promise<ContainerID>;
  startContainer(id: ContainerID): Promise<void>;
  /** Resolves when the container has ended. The signal ends the wait; the runtime continues to stop the container. */
  stopContainer(id: ContainerID, graceSeconds: number, signal?: AbortSignal): Promise<void>;
  removeContainer(id: ContainerID): Promise<void>;
  /** Finds the instances of one container name in a sandbox; restricted like `findSandboxes`. */
  findContainers(sandboxID: SandboxID, name: string): Promise<FoundContainer[]>;
  /** The signal cancels the call, also in the runtime. */
  updateContainerResources(id: ContainerID, resources: LinuxContainerResources, signal?: AbortSignal): Promise<void>;
  /** Sends the resources of the pod's cgroup to the runtime. Returns false when the runtime does not have this call. The signal cancels it. */
  updatePodSandboxResources(id: SandboxID, resources: SandboxResources, signal?: AbortSignal): Promise<boolean>;
  /** Returns false when the runtime does not have this call. */
  updatePodCIDR(podCIDR: string): Promise<boolean>;
  execSync(id: ContainerID, command: readonly string[], deadlineMs: number, signal?: AbortSignal): Promise<ExecResult>;
  /** Returns the user that the image declares; root when neither field is set. */
  imageUser(imageRef: string): Promise<{ readonly uid?: bigint; readonly username?: string }>;
  /** Makes any other unary call of the runtime service. The caller sets its deadline. */
  readonly call: CriClient['runtime']['call'];
}

const containerStates: Readonly<Record<number, FoundContainer['state']>> = {
  [ContainerState.CONTAINER_CREATED]: 'created',
  [ContainerState.CONTAINER_RUNNING]: 'running',
  [ContainerState.CONTAINER_EXITED]: 'exited',
};

/** After a runtime has answered that it does not have a call, the call is not tried again for this long. An upgraded runtime may have it. */
const absentCallMs = 60_000;

/** Wraps the runtime service and the image service, which may have different endpoints. `timeoutMs` is runtimeRequestTimeout. */
export function createPodRuntime(
  runtime: CriClient['runtime'],
  images: CriClient['images'],
  timeoutMs: number,
  nowMs: () => number = monotonicMs,
): PodRuntime {
  const limits = { deadlineMs: timeoutMs };
  let sandboxUpdatesAbsentUntilMs = -Infinity;
  return {
    runPodSandbox: async (config, runtimeHandler, signal) => {
      // Network plugins may be slow: upstream also doubles the timeout.
      const reply = await runtime.call('runPodSandbox', { config, runtimeHandler }, { deadlineMs: timeoutMs * 2, signal });
      return reply.podSandboxId as SandboxID;
    },
    podSandboxStatus: async (id) => {
      const { status } = await runtime.call('podSandboxStatus', { podSandboxId: id }, limits);
      if (!status) throw new CriError('PodSandboxStatus', -1, 'pod sandbox status is nil');
      return status;
    },
    stopPodSandbox: async (id) => {
      await runtime.call('stopPodSandbox', { podSandboxId: id }, limits).catch(ignoreNotFound);
    },
    removePodSandbox: async (id) => {
      await runtime.call('removePodSandbox', { podSandboxId: id }, limits).catch(ignoreNotFound);
    },
    findSandboxes: async (podUID) => {
      const filter = { labelSelector: { [podUIDLabel]: podUID } };
      const { items } = await runtime.call('listPodSandbox', { filter }, limits);
      return items.map(({ id, metadata, state }) => ({
        id: id as SandboxID,
        attempt: metadata?.attempt ?? 0,
        ready: state === PodSandboxState.SANDBOX_READY,
      }));
    },
    createContainer: async (podSandboxId, config, sandboxConfig) => {
      const { containerId } = await runtime.call('createContainer', { podSandboxId, config, sandboxConfig }, limits);
      return containerId as ContainerID;
    },
    startContainer: async (containerId) => {
      await runtime.call('startContainer', { containerId }, limits);
    },
    stopContainer: async (containerId, graceSeconds, signal) => {
      // The runtime may use the whole grace period: the request timeout counts from its end.
      const deadlineMs = graceSeconds * 1000 + timeoutMs;
      await runtime
        .call('stopContainer', { containerId, timeout: BigInt(graceSeconds) }, { deadlineMs, ...(signal && { signal }) })
        .catch(ignoreNotFound);
    },
    removeContainer: async (containerId) => {
      await runtime.call('removeContainer', { containerId }, limits).catch(ignoreNotFound);
    },
    updatePodCIDR: async (podCidr) => {
      try {
        await runtime.call('updateRuntimeConfig', { runtimeConfig: { networkConfig: { podCidr } } }, limits);
        return true;
      } catch (err) {
        if (isUnimplemented(err)) return false;
        throw err;
      }
    },
    findContainers: async (podSandboxId, name) => {
      const filter = { podSandboxId, labelSelector: { [containerNameLabel]: name } };
      const { containers } = await runtime.call('listContainers', { filter }, limits);
      return containers.map(({ id, metadata, state }) => ({
        id: id as ContainerID,
        attempt: metadata?.attempt ?? 0,
        state: containerStates[state] ?? 'unknown',
      }));
    },
    updateContainerResources: async (containerId, linux, signal) => {
      await runtime.call('updateContainerResources', { containerId, linux, annotations: {} }, { ...limits, ...(signal && { signal }) });
    },
    updatePodSandboxResources: async (podSandboxId, { overhead, resources }, signal) => {
      if (nowMs() < sandboxUpdatesAbsentUntilMs) return false;
      try {
        await runtime.call('updatePodSandboxResources', { podSandboxId, overhead, resources }, { ...limits, ...(signal && { signal }) });
        return true;
      } catch (err) {
        if (!isNotImplemented(err)) throw err;
        sandboxUpdatesAbsentUntilMs = nowMs() + absentCallMs;
        return false;
      }
    },
    execSync: async (containerId, command, deadlineMs, signal) => {
      const request = { containerId, cmd: [...command], timeout: 0n };
      const { exitCode, stdout, stderr } = await runtime.call('execSync', request, { deadlineMs, ...(signal && { signal }) });
      return { exitCode, output: outputStart([stdout, stderr]) };
    },
    imageUser: memoizeByDigest(async (imageRef) => {
      const { image } = await images.call('imageStatus', { image: { image: imageRef } }, limits);
      // Upstream takes the user of a missing image for root: a container of an image that is pulled again meanwhile would run as root.
      if (!image) throw new Error(`unable to get the user of image ${goQuote(imageRef)}: the runtime does not have it`);
      if (image.uid) return { uid: image.uid.value };
      return image.username ? { username: image.username } : {};
    }),
    call: (method, request, callLimits) => runtime.call(method, request, callLimits),
  };
}

/** Upstream's limit for the output of exec probes. The runtime returns up to 16 MiB of each stream. */
const maxOutputBytes = 10 * 1024;

function outputStart(streams: readonly Uint8Array[]): string {
  const output = Buffer.concat(streams.map((stream) => stream.subarray(0, maxOutputBytes)));
  return output.subarray(0, maxOutputBytes).toString();
}

/** A node runs fewer images. */
const maxCachedImages = 1000;

/** Caches the results for images that are named by digest, since those never change. Failures are not cached. */
function memoizeByDigest<T>(read: (imageRef: string) => Promise<T>): (imageRef: string) => Promise<T> {
  const cache = new Map<string, Promise<T>>();
  return (imageRef) => {
    const cached = cache.get(imageRef);
    if (cached || !imageRef.startsWith('sha256:')) return cached ?? read(imageRef);
    const result = read(imageRef);
    result.catch(() => cache.delete(imageRef));
    if (cache.size >= maxCachedImages) cache.delete(cache.keys().next().value!);
    cache.set(imageRef, result);
    return result;
  };
}

/** gRPC's NOT_FOUND. */
const notFound = 5;

/** gRPC's UNKNOWN and UNIMPLEMENTED. */
const [unknown, unimplemented] = [2, 12];

/** Returns whether the runtime does not have the call. containerd 2.2 answers with UNKNOWN. */
function isNotImplemented(err: unknown): boolean {
  return err instanceof CriError && (err.code === unimplemented || (err.code === unknown && err.message.includes('not implemented')));
}

function ignoreNotFound(err: unknown): void {
  if (!(err instanceof CriError && err.code === notFound)) throw err;
}

/** Returns the runtime's description of a failure, without the call and the code: for events and waiting messages. */
export function descriptionOf(err: unknown): string {
  if (!(err instanceof CriError)) return err instanceof Error ? err.message : String(err);
  return /desc = (?<description>.*)$/s.exec(err.message)?.groups?.['description'] ?? err.message;
}

/** Formats a failed call as upstream prints it: `rpc error: code = Unknown desc = …`. */
export function rpcErrorOf(err: unknown): string {
  if (!(err instanceof CriError)) return err instanceof Error ? err.message : String(err);
  return err.message.slice(`${err.call}: `.length);
}
