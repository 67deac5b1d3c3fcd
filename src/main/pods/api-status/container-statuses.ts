/**
 * Generates the statuses of a pod's containers of one kind from the runtime's statuses and the previous API statuses (upstream
 * kubelet_pods.go convertToAPIContainerStatuses). A container that the runtime has lost keeps its restart count and its last termination.
 */
import type { RuntimeContainerStatus, RuntimePodStatus } from '../../../shared/contracts/runtime-status.ts';
import type { NodeInfo } from '../../../shared/contracts/node-info.ts';
import type { Container, ContainerState, ContainerStatus, Pod, ResourceRequirements } from '../../../shared/kubernetes/api.ts';
import { supportsRecursiveReadOnly } from '../../../shared/runtime/recursive-read-only.ts';
import { containerCreating, podInitializing, type WaitingReasons } from '../../../shared/kubernetes/waiting-reasons.ts';
import type { ContainerID } from '../../../shared/kubernetes/ids.ts';
import { isRestartableInitContainer, shouldRestartContainer, type RestartGates } from '../../../shared/kubernetes/restart-policy.ts';
import type { ContainerProbeResults } from '../../probes/index.ts';
import { toContainerStatus, volumeMountsOf, type ContainerContext } from './container-status.ts';
import { previousLastState, previousContainerStatus } from './listed-only.ts';
import { removedLastState, removedState } from './restart-all.ts';
import { withTerminationReason } from './termination-reason.ts';

export type ContainerKind = 'init' | 'regular' | 'ephemeral';

export interface ContainerStatusesInput {
  readonly pod: Pod;
  /** The pod with the resources that are in force; the same object as `pod` when they are the allocated ones. */
  readonly actuated: Pod;
  readonly status: RuntimePodStatus | null;
  readonly waiting: WaitingReasons;
  readonly node: Pick<NodeInfo, 'runtimeName'> & Partial<Pick<NodeInfo, 'runtimeHandlers'>>;
  /** The pod is restarting all of its containers (isRestartingAll). */
  readonly restarting: boolean;
  readonly restartGates: RestartGates;
  /** Gate ContainerStopSignals. */
  readonly stopSignals: boolean;
  /** Gate ImageVolumeWithDigest. */
  readonly imageVolumeRefs: boolean;
  /** Returns the results of an instance's probes. */
  readonly probeResults: (id: ContainerID) => ContainerProbeResults | undefined;
  /** Whether the postStart hook of an instance may still run. */
  readonly isStarting: (container: Container, id: ContainerID) => boolean;
  /** The previous statuses come from a mirror pod. */
  readonly isPreviousFromMirror?: boolean;
}

/** Init containers are in the spec's order, all others are sorted by name. */
export function generateContainerStatuses(
  input: ContainerStatusesInput,
  containers: readonly Container[],
  previous: readonly ContainerStatus[],
  kind: ContainerKind,
): ContainerStatus[] {
  const previousByName = new Map(previous.map((status) => [status.name, status]));
  const statuses = containers.map((container) => {
    const instances = input.status?.containers.filter(({ name }) => name === container.name) ?? [];
    // As upstream, nothing of a lost init container is taken from a mirror pod's status: that it has completed is known without it.
    const isIgnored = kind === 'init' && input.isPreviousFromMirror && isLostAfterInit(input, container, instances[0]);
    const previousStatus = isIgnored ? undefined : previousByName.get(container.name);
    const { state = {}, lastState = {}, ...fields } = statusFromRuntime(input, container, instances, previousStatus);
    const reported = {
      ...fields,
      state: withTerminationReason(state, container, kind === 'init'),
      lastState: withTerminationReason(lastState, container, kind === 'init'),
    };
    const status = withWaiting(input, container, instances[0], reported, kind);
    return withReadiness(input, container, status, kind, instances[0]?.id);
  });
  return kind === 'init' ? statuses : statuses.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** The newest instance in the runtime is the state, the one before it the last state. */
function statusFromRuntime(
  input: ContainerStatusesInput,
  container: Container,
  [newest, older]: readonly RuntimeContainerStatus[],
  previousStatus: ContainerStatus | undefined,
): ContainerStatus {
  const { runtimeName, runtimeHandlers = [] } = input.node;
  const handler = input.status?.sandboxes[0]?.runtimeHandler ?? '';
  const context = {
    container,
    actuated: actuatedOf(container, input),
    previousStatus,
    runtimeName,
    supportsRecursiveReadOnly: supportsRecursiveReadOnly(runtimeHandlers, handler),
    restarting: input.restarting,
    stopSignals: input.stopSignals,
    imageVolumes: input.imageVolumeRefs ? imageVolumesOf(input.pod) : noVolumes,
  };
  if (!newest) return statusWithoutRuntime(input.pod, context);
  const unchanged = previousContainerStatus(newest, previousStatus);
  if (unchanged) return unchanged;
  const status = toContainerStatus(newest, context);
  const lastState = older && previousLastState(older, previousStatus);
  if (lastState) return { ...status, lastState };
  if (older) return { ...status, lastState: toContainerStatus(older, context).state ?? {} };
  return { ...status, lastState: lastStateOf(status, previousStatus) };
}

/** Returns the resources in force of the container; undefined when these are the allocated ones. */
function actuatedOf({ name }: Container, { pod, actuated }: ContainerStatusesInput): ResourceRequirements | undefined {
  if (actuated === pod) return undefined;
  const { initContainers = [], containers } = actuated.spec;
  return [...initContainers, ...containers].find((container) => container.name === name)?.resources;
}

const noVolumes: ReadonlySet<string> = new Set();

function imageVolumesOf({ spec }: Pod): ReadonlySet<string> {
  return new Set((spec.volumes ?? []).flatMap(({ name, image }) => (image ? [name] : [])));
}

/** The previous instance may have been garbage-collected: its reported termination is kept. */
function lastStateOf(status: ContainerStatus, previousStatus: ContainerStatus | undefined): ContainerState {
  const terminatedState = previousStatus?.state?.terminated;
  if (terminatedState && previousStatus.containerID !== status.containerID) return { terminated: terminatedState };
  return previousStatus?.lastState?.terminated ? { terminated: previousStatus.lastState.terminated } : {};
}

/** The status of a container that the runtime does not have: not created yet, or removed. */
function statusWithoutRuntime(pod: Pod, context: ContainerContext): ContainerStatus {
  const { container, previousStatus, restarting } = context;
  const wasRemoved = restarting && previousStatus !== undefined && !previousStatus.state?.waiting;
  const removal = wasRemoved
    ? { state: removedState, lastState: removedLastState, restartCount: previousStatus.restartCount + 1 }
    : undefined;
  if (previousStatus?.state?.terminated) return { ...previousStatus, ...removal };
  const reason = (pod.spec.initContainers ?? []).length > 0 ? podInitializing : containerCreating;
  const status: ContainerStatus = {
    name: container.name,
    image: container.image ?? '',
    imageID: '',
    ready: false,
    restartCount: previousStatus?.restartCount ?? 0,
    state: { waiting: { reason } },
    lastState: previousStatus?.lastState ?? {},
    ...volumeMountsOf(context),
  };
  if (removal) return { ...status, ...removal };
  if (!previousStatus?.state?.running || previousStatus.lastState?.terminated) return status;
  // The container ran and disappeared: without a terminated last state the pod would fall back to Pending.
  const message = 'The container could not be located when the pod was deleted.  The container used to be Running';
  return {
    ...status,
    restartCount: status.restartCount + (pod.metadata.deletionTimestamp === undefined ? 1 : 0),
    lastState: { terminated: { exitCode: 137, reason: 'ContainerStatusUnknown', message } },
  };
}

/** Sets the waiting state of a container that the last sync failed to start and the next one tries again. */
function withWaiting(
  input: ContainerStatusesInput,
  container: Container,
  newest: RuntimeContainerStatus | undefined,
  status: ContainerStatus,
  kind: ContainerKind,
): ContainerStatus {
  const { waiting } = input;
  if (kind === 'init') {
    if (newest?.state === 'exited' && newest.exitCode === 0) return status;
    if (status.state?.waiting && isLostAfterInit(input, container, newest)) {
      const message =
        'Unable to get init container status from container runtime and pod has been initialized, treat it as exited normally';
      return { ...status, state: { terminated: { exitCode: 0, reason: 'Completed', message } } };
    }
  }
  // hasOwn: `constructor` is a valid container name.
  const waitingReason = Object.hasOwn(waiting, container.name) ? waiting[container.name] : undefined;
  if (!waitingReason || !shouldContainerBeStarted(input, container, newest)) return status;
  return {
    ...status,
    lastState: status.state?.terminated ? { terminated: status.state.terminated } : (status.lastState ?? {}),
    state: { waiting: { reason: waitingReason.reason, message: waitingReason.message } },
  };
}

/** Whether the next sync starts the container, also for the first time. Upstream: ShouldContainerBeRestarted. */
function shouldContainerBeStarted(
  { pod, restartGates }: ContainerStatusesInput,
  container: Container,
  newest: RuntimeContainerStatus | undefined,
): boolean {
  if (pod.metadata.deletionTimestamp !== undefined) return false;
  if (!newest || newest.state === 'created' || newest.state === 'unknown') return true;
  return newest.state === 'exited' && shouldRestartContainer(container, pod.spec, newest.exitCode, restartGates);
}

/**
 * True when the runtime has lost the init container but has regular containers, which proves that the init container completed. It proves nothing while
 * all containers restart: the kubelet then removes init containers before the container that triggered the restart.
 */
function isLostAfterInit(
  { pod, status, restarting }: ContainerStatusesInput,
  container: Container,
  newest: RuntimeContainerStatus | undefined,
): boolean {
  if (newest || restarting || isRestartableInitContainer(container)) return false;
  const names = new Set(pod.spec.containers.map(({ name }) => name));
  return status?.containers.some(({ name, state }) => names.has(name) && state !== 'unknown') ?? false;
}

/**
 * Sets `started` and `ready` (upstream prober_manager.go UpdatePodStatus). A container without probes is both while it runs. A probe that has not
 * succeeded for this instance counts as failed. A container has not started while its postStart hook runs.
 */
function withReadiness(
  { probeResults, isStarting }: ContainerStatusesInput,
  container: Container,
  status: ContainerStatus,
  kind: ContainerKind,
  id: ContainerID | undefined,
): ContainerStatus {
  if (kind === 'ephemeral') return status;
  const isRunning = status.state?.running !== undefined;
  if (kind === 'init' && !isRestartableInitContainer(container)) {
    return { ...status, started: isRunning, ready: status.state?.terminated?.exitCode === 0 };
  }
  const results = id === undefined ? undefined : probeResults(id);
  const hasStarted = isRunning && !(id !== undefined && isStarting(container, id));
  const started = hasStarted && (!container.startupProbe || results?.startup === 'success');
  const ready = started && (!container.readinessProbe || results?.readiness === 'success');
  return { ...status, started, ready };
}
