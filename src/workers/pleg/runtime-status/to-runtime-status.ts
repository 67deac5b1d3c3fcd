/**
 * Converts CRI statuses to the pod status of main and the pod syncs. Pure. Upstream: toKubeContainerStatus, GetPodStatus and
 * determinePodSandboxIPs (pkg/kubelet/kuberuntime). As in upstream's PLEG, a pod without a running sandbox keeps its last IPs.
 */
import type { RuntimeContainerStatus, RuntimePodStatus, RuntimeSandboxStatus } from '../../../shared/contracts/runtime-status.ts';
import {
  ContainerState,
  ContainerStatus,
  NamespaceMode,
  PodSandboxState,
  Signal,
  type UserNamespace,
} from '../../../shared/cri/generated/cri-v1.ts';
import type { Container, PodSandbox, PodSandboxStatus } from '../../../shared/cri/generated/cri-v1.ts';
import { sandboxIPs } from '../../../shared/cri/sandbox-ips.ts';
import type { Failure } from '../../../shared/errors/kubelet-error.ts';
import { configSourceAnnotation, containerNameLabel } from '../../../shared/kubernetes/annotations.ts';
import type { ContainerID, PodUID, SandboxID } from '../../../shared/kubernetes/ids.ts';
import { readContainerAnnotations } from './container-annotations.ts';

/** Converts a listed sandbox. Lists lack the network. */
export function toListedSandboxStatus(sandbox: PodSandbox): RuntimeSandboxStatus {
  return {
    id: sandbox.id as SandboxID,
    state: sandbox.state === PodSandboxState.SANDBOX_READY ? 'ready' : 'notReady',
    attempt: sandbox.metadata?.attempt ?? 0,
    createdAtMs: toMs(sandbox.createdAt),
    podIPs: [],
    hostNetwork: false,
    runtimeHandler: sandbox.runtimeHandler,
    ...sourceOf(sandbox.annotations),
    listedOnly: true,
  };
}

export function toRuntimeSandboxStatus(status: PodSandboxStatus): RuntimeSandboxStatus {
  return {
    id: status.id as SandboxID,
    state: status.state === PodSandboxState.SANDBOX_READY ? 'ready' : 'notReady',
    attempt: status.metadata?.attempt ?? 0,
    createdAtMs: toMs(status.createdAt),
    podIPs: sandboxIPs(status),
    hostNetwork: status.linux?.namespaces?.options?.network === NamespaceMode.NODE,
    runtimeHandler: status.runtimeHandler,
    ...sourceOf(status.annotations),
    ...userNamespaceOf(status.linux?.namespaces?.options?.usernsOptions),
  };
}

function sourceOf(annotations: Readonly<Record<string, string>>): Pick<RuntimeSandboxStatus, 'isStatic'> {
  const source = annotations[configSourceAnnotation];
  return source === 'file' || source === 'http' ? { isStatic: true } : {};
}

/** The kubelet makes only namespaces with one mapping from 0 on, the same for users and groups. */
function userNamespaceOf(options: UserNamespace | undefined): Pick<RuntimeSandboxStatus, 'userNamespace'> {
  if (options?.mode !== NamespaceMode.POD || options.uids.length !== 1 || options.gids.length !== 1) return {};
  const [uids, gids] = [options.uids[0]!, options.gids[0]!];
  if (uids.containerId !== 0 || gids.containerId !== 0 || uids.hostId !== gids.hostId || uids.length !== gids.length) return {};
  return { userNamespace: { hostID: uids.hostId, length: uids.length } };
}

const containerStates = {
  [ContainerState.CONTAINER_CREATED]: 'created',
  [ContainerState.CONTAINER_RUNNING]: 'running',
  [ContainerState.CONTAINER_EXITED]: 'exited',
  [ContainerState.CONTAINER_UNKNOWN]: 'unknown',
  [ContainerState.UNRECOGNIZED]: 'unknown',
} as const;

/**
 * Converts a listed container, before its status call. Lists lack the result of an exit. As upstream, an unknown result counts as a
 * failure with the exit code 137, because a container that succeeded would not be restarted.
 */
export function toListedContainerStatus(container: Container): RuntimeContainerStatus {
  const { id, metadata, state, createdAt, image, imageRef, imageId, labels, annotations } = container;
  const listed = ContainerStatus.fromPartial({ id, metadata, state, createdAt, image, imageRef, imageId, labels, annotations });
  const status = { ...toRuntimeContainerStatus(listed, container.podSandboxId as SandboxID, ''), listedOnly: true } as const;
  if (status.state !== 'exited') return status;
  return { ...status, exitCode: 137, reason: 'ContainerStatusUnknown', message: 'The runtime has not said how the container ended' };
}

/** `terminationMessage` is the content of the message file or the end of the log. Empty unless the container exited. */
export function toRuntimeContainerStatus(
  status: ContainerStatus,
  sandboxID: SandboxID,
  terminationMessage: string,
): RuntimeContainerStatus {
  const annotations = readContainerAnnotations(status.annotations);
  const state = containerStates[status.state] ?? 'unknown';
  const exited = state === 'exited';
  const message = exited ? [status.message, terminationMessage].filter((part) => part !== '').join(': ') : '';
  const user = status.user?.linux;
  const resources = status.resources?.linux;
  const stopSignal = toStopSignal(status.stopSignal);
  return {
    id: status.id as ContainerID,
    sandboxID,
    name: status.labels[containerNameLabel] ?? status.metadata?.name ?? '',
    state,
    createdAtMs: toMs(status.createdAt),
    startedAtMs: state === 'created' ? 0 : toMs(status.startedAt),
    finishedAtMs: exited ? toMs(status.finishedAt) : 0,
    exitCode: exited ? status.exitCode : 0,
    image: status.image?.image ?? '',
    // Runtimes before CRI 1.30 do not set image_id.
    imageID: status.imageId === '' ? status.imageRef : status.imageId,
    imageRef: status.imageRef,
    hash: annotations.hash,
    restartCount: annotations.restartCount,
    ...(annotations.restartBackOff && { restartBackOff: annotations.restartBackOff }),
    reason: exited ? status.reason : '',
    message,
    logPath: status.logPath,
    ...(user && { user: { uid: Number(user.uid), gid: Number(user.gid), supplementalGroups: user.supplementalGroups.map(Number) } }),
    ...(resources && {
      resources: {
        cpuShares: Number(resources.cpuShares),
        cpuQuota: Number(resources.cpuQuota),
        cpuPeriod: Number(resources.cpuPeriod),
        memoryLimitBytes: Number(resources.memoryLimitInBytes),
      },
    }),
    mounts: status.mounts.map(({ containerPath, hostPath, readonly, recursiveReadOnly, image }) => ({
      containerPath,
      hostPath,
      readonly,
      recursiveReadOnly,
      ...(image?.image && { image: image.image }),
    })),
    orphan: annotations.orphan,
    ...(stopSignal !== undefined && { stopSignal }),
  };
}

/** Returns the API's name of a signal (`SIGRTMIN+1`). Undefined when the runtime does not report it. */
function toStopSignal(signal: Signal): string | undefined {
  if (signal === Signal.SIGNAL_RUNTIME_DEFAULT) return undefined;
  const name = Object.entries(Signal).find(([, value]) => value === signal)?.[0];
  return name === undefined || name === 'UNRECOGNIZED' ? undefined : name.replace('SIGNAL_', '').replace('PLUS', '+').replace('MINUS', '-');
}

/** Converts nanoseconds since the epoch to ms, with microsecond precision. Values up to the epoch mean "never". */
function toMs(ns: bigint): number {
  return ns <= 0n ? 0 : Number(ns / 1000n) / 1000;
}

export interface PodParts {
  readonly podUID: PodUID;
  readonly name: string;
  readonly namespace: string;
  readonly sandboxes: readonly RuntimeSandboxStatus[];
  readonly containers: readonly RuntimeContainerStatus[];
  /** The last known IPs of the pod. */
  readonly previousPodIPs: readonly string[];
  readonly observedAtMs: number;
  readonly failure?: Failure | undefined;
}

export function toRuntimePodStatus(parts: PodParts): RuntimePodStatus {
  const { podUID, name, namespace, observedAtMs, failure } = parts;
  const sandboxes = [...parts.sandboxes].sort(
    (a, b) => b.attempt - a.attempt || b.createdAtMs - a.createdAtMs || (a.id < b.id ? -1 : Number(a.id > b.id)),
  );
  // The count is compared first: the clock may have been set back between two instances.
  const containers = [...parts.containers].sort(
    (a, b) => b.restartCount - a.restartCount || b.createdAtMs - a.createdAtMs || (a.id < b.id ? -1 : Number(a.id > b.id)),
  );
  const podIPs = computePodIPs(sandboxes, parts.previousPodIPs);
  return { podUID, name, namespace, podIPs, sandboxes, containers, observedAtMs, ...(failure && { failure }) };
}

/** Returns the IPs of the newest sandbox while it is ready. A pod without a ready sandbox keeps its previous IPs. */
function computePodIPs(newestFirst: readonly RuntimeSandboxStatus[], previous: readonly string[]): readonly string[] {
  const [newest] = newestFirst;
  if (newest?.state === 'ready' && newest.podIPs.length > 0) return newest.podIPs;
  return newestFirst.some(({ state }) => state === 'ready') ? [] : previous;
}
