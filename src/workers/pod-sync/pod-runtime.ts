/**
 * What the steps of a sync ask of the container runtime, and nothing more: each call with its deadline, so that no step needs to
 * remember one. Deadlines are upstream's (staging/src/k8s.io/cri-client/pkg/remote_runtime.go).
 */
import type { CriClient } from '../../shared/cri/client.ts';
import { CriError } from '../../shared/cri/cri-error.ts';
import {
  ContainerState,
  PodSandboxState,
  type ContainerConfig,
  type PodSandboxConfig,
  type PodSandboxStatus,
} from '../../shared/cri/generated/cri-v1.ts';
import { containerNameLabel, podUIDLabel } from '../../shared/kubernetes/annotations.ts';
import type { ContainerID, PodUID, SandboxID } from '../../shared/kubernetes/ids.ts';

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

export interface ExecResult {
  readonly exitCode: number;
  /** Standard output, then standard error. */
  readonly output: string;
}

/** All reject with CriError. What is not there any more is a success of stop and remove. */
export interface PodRuntime {
  /** Rejects when the signal aborts, and the runtime is told. */
  runPodSandbox(config: PodSandboxConfig, runtimeHandler: string, signal: AbortSignal): Promise<SandboxID>;
  podSandboxStatus(id: SandboxID): Promise<PodSandboxStatus>;
  stopPodSandbox(id: SandboxID): Promise<void>;
  removePodSandbox(id: SandboxID): Promise<void>;
  /** Only to find what a lost task left: the runtime's list belongs to the pleg thread. */
  findSandboxes(podUID: PodUID): Promise<FoundSandbox[]>;
  createContainer(sandboxID: SandboxID, config: ContainerConfig, sandboxConfig: PodSandboxConfig): Promise<ContainerID>;
  startContainer(id: ContainerID): Promise<void>;
  /** Resolves when it has ended. The signal gives up waiting; the runtime goes on. */
  stopContainer(id: ContainerID, graceSeconds: number, signal?: AbortSignal): Promise<void>;
  removeContainer(id: ContainerID): Promise<void>;
  /** As `findSandboxes`, of one container's name in a sandbox. */
  findContainers(sandboxID: SandboxID, name: string): Promise<FoundContainer[]>;
  execSync(id: ContainerID, command: readonly string[], deadlineMs: number, signal?: AbortSignal): Promise<ExecResult>;
  /** The user that the image asks for; neither field set means root. */
  imageUser(imageRef: string): Promise<{ readonly uid?: bigint; readonly username?: string }>;
}

const containerStates: Readonly<Record<number, FoundContainer['state']>> = {
  [ContainerState.CONTAINER_CREATED]: 'created',
  [ContainerState.CONTAINER_RUNNING]: 'running',
  [ContainerState.CONTAINER_EXITED]: 'exited',
};

/** By the runtime's service, and the image service, which may be another's. `timeoutMs` is runtimeRequestTimeout. */
export function podRuntime(runtime: CriClient['runtime'], images: CriClient['images'], timeoutMs: number): PodRuntime {
  const limits = { deadlineMs: timeoutMs };
  return {
    runPodSandbox: async (config, runtimeHandler, signal) => {
      // Network plugins may be slow: twice the usual time, as upstream.
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
      // The usual time comes on top of the grace period.
      const deadlineMs = graceSeconds * 1000 + timeoutMs;
      await runtime
        .call('stopContainer', { containerId, timeout: BigInt(graceSeconds) }, { deadlineMs, ...(signal && { signal }) })
        .catch(ignoreNotFound);
    },
    removeContainer: async (containerId) => {
      await runtime.call('removeContainer', { containerId }, limits).catch(ignoreNotFound);
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
    execSync: async (containerId, command, deadlineMs, signal) => {
      const request = { containerId, cmd: [...command], timeout: 0n };
      const { exitCode, stdout, stderr } = await runtime.call('execSync', request, { deadlineMs, ...(signal && { signal }) });
      return { exitCode, output: Buffer.concat([stdout, stderr]).toString() };
    },
    imageUser: remember(async (imageRef) => {
      const { image } = await images.call('imageStatus', { image: { image: imageRef } }, limits);
      if (image?.uid) return { uid: image.uid.value };
      return image?.username ? { username: image.username } : {};
    }),
  };
}

/** More images than a node runs. */
const maxRemembered = 1000;

/** An image that is named by the digest of its content never changes: it is asked about once. A failure is not remembered. */
function remember<T>(ask: (imageRef: string) => Promise<T>): (imageRef: string) => Promise<T> {
  const known = new Map<string, Promise<T>>();
  return (imageRef) => {
    const found = known.get(imageRef);
    if (found || !imageRef.startsWith('sha256:')) return found ?? ask(imageRef);
    const asked = ask(imageRef);
    asked.catch(() => known.delete(imageRef));
    if (known.size >= maxRemembered) known.delete(known.keys().next().value!);
    known.set(imageRef, asked);
    return asked;
  };
}

/** gRPC's NOT_FOUND. */
const notFound = 5;

function ignoreNotFound(err: unknown): void {
  if (!(err instanceof CriError && err.code === notFound)) throw err;
}

/** What the runtime said, without the call and the code: for events and waiting messages. */
export function descriptionOf(err: unknown): string {
  if (!(err instanceof CriError)) return err instanceof Error ? err.message : String(err);
  return /desc = (?<description>.*)$/s.exec(err.message)?.groups?.['description'] ?? err.message;
}

/** What upstream prints of a failed call: `rpc error: code = Unknown desc = …`. */
export function rpcErrorOf(err: unknown): string {
  if (!(err instanceof CriError)) return err instanceof Error ? err.message : String(err);
  return err.message.slice(`${err.call}: `.length);
}
