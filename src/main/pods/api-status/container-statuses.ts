/**
 * The statuses of a pod's containers of one kind, from the runtime's and from what was said before (upstream
 * kubelet_pods.go convertToAPIContainerStatuses). Nothing that ran is forgotten: what the runtime has lost keeps its restart count and its
 * last end.
 */
import type { RuntimeContainerStatus, RuntimePodStatus } from '../../../shared/contracts/runtime-status.ts';
import type { NodeFacts } from '../../../shared/contracts/node-facts.ts';
import type { Container, ContainerState, ContainerStatus, Pod } from '../../../shared/kubernetes/api.ts';
import { supportsRecursiveReadOnly } from '../../../shared/kubernetes/recursive-read-only.ts';
import { isRestartableInitContainer, shouldRestartContainer } from '../../../shared/kubernetes/restart-policy.ts';
import { toContainerStatus, volumeMountsOf, type ContainerContext } from './container-status.ts';
import { previousLastState, previousContainerStatus } from './listed-only.ts';
import { removedLastState, removedState } from './restart-all.ts';

/** By container name. */
export type WaitingReasons = Readonly<Record<string, { readonly reason: string; readonly message: string }>>;
export type ContainerKind = 'init' | 'regular' | 'ephemeral';

export interface ContainerStatusesInput {
  readonly pod: Pod;
  readonly status: RuntimePodStatus | null;
  readonly waiting: WaitingReasons;
  readonly node: Pick<NodeFacts, 'runtimeName'> & Partial<Pick<NodeFacts, 'runtimeHandlers'>>;
  /** All of the pod's containers are to be restarted (isRestartingAll). */
  readonly restarting: boolean;
  /** Gate ContainerStopSignals; absent: off. */
  readonly stopSignals?: boolean;
  /** Gate ImageVolumeWithDigest; absent: off. */
  readonly imageVolumeRefs?: boolean;
  /** What was said before comes from a mirror pod. */
  readonly isPreviousOfMirror?: boolean;
}

/** In the order of the spec for init containers, by name for the others. */
export function generateContainerStatuses(
  input: ContainerStatusesInput,
  containers: readonly Container[],
  previous: readonly ContainerStatus[],
  kind: ContainerKind,
): ContainerStatus[] {
  const before = new Map(previous.map((status) => [status.name, status]));
  const statuses = containers.map((container) => {
    const seen = input.status?.containers.filter(({ name }) => name === container.name) ?? [];
    // Upstream does not read what a mirror pod says: of an init container that the runtime has lost it knows only that it must have completed.
    const isForgotten = kind === 'init' && input.isPreviousOfMirror && isLostAfterInit(input, container, seen[0]);
    const known = isForgotten ? undefined : before.get(container.name);
    const shown = withWaiting(input, container, seen[0], fromRuntime(input, container, seen, known), kind);
    return withReadiness(container, shown, kind);
  });
  return kind === 'init' ? statuses : statuses.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** The newest that the runtime has is the state, the one before it the last state. */
function fromRuntime(
  input: ContainerStatusesInput,
  container: Container,
  [newest, older]: readonly RuntimeContainerStatus[],
  before: ContainerStatus | undefined,
): ContainerStatus {
  const { runtimeName, runtimeHandlers = [] } = input.node;
  const handler = input.status?.sandboxes[0]?.runtimeHandler ?? '';
  const context = {
    container,
    before,
    runtimeName,
    supportsRecursiveReadOnly: supportsRecursiveReadOnly(runtimeHandlers, handler),
    restarting: input.restarting,
    stopSignals: input.stopSignals ?? false,
    imageVolumes: input.imageVolumeRefs ? imageVolumesOf(input.pod) : noVolumes,
  };
  if (!newest) return withoutRuntime(input.pod, context);
  const said = previousContainerStatus(newest, before);
  if (said) return said;
  const status = toContainerStatus(newest, context);
  const lastState = older && previousLastState(older, before);
  if (lastState) return { ...status, lastState };
  if (older) return { ...status, lastState: toContainerStatus(older, context).state ?? {} };
  return { ...status, lastState: lastStateOf(status, before) };
}

const noVolumes: ReadonlySet<string> = new Set();

function imageVolumesOf({ spec }: Pod): ReadonlySet<string> {
  return new Set((spec.volumes ?? []).flatMap(({ name, image }) => (image ? [name] : [])));
}

/** The runtime may have lost the container before this one (it was collected); what was said of its end still holds. */
function lastStateOf(status: ContainerStatus, before: ContainerStatus | undefined): ContainerState {
  const ended = before?.state?.terminated;
  if (ended && before.containerID !== status.containerID) return { terminated: ended };
  return before?.lastState?.terminated ? { terminated: before.lastState.terminated } : {};
}

/** The runtime has none of that name: not yet, or no more. */
function withoutRuntime(pod: Pod, context: ContainerContext): ContainerStatus {
  const { container, before, restarting } = context;
  const wasRemoved = restarting && before !== undefined && !before.state?.waiting;
  const removal = wasRemoved ? { state: removedState, lastState: removedLastState, restartCount: before.restartCount + 1 } : undefined;
  if (before?.state?.terminated) return { ...before, ...removal };
  const reason = (pod.spec.initContainers ?? []).length > 0 ? 'PodInitializing' : 'ContainerCreating';
  const status: ContainerStatus = {
    name: container.name,
    image: container.image ?? '',
    imageID: '',
    ready: false,
    restartCount: before?.restartCount ?? 0,
    state: { waiting: { reason } },
    lastState: before?.lastState ?? {},
    ...volumeMountsOf(context),
  };
  if (removal) return { ...status, ...removal };
  if (!before?.state?.running || before.lastState?.terminated) return status;
  // It ran, and is gone without a trace: it ended somehow, and the pod must not fall back to Pending.
  const message = 'The container could not be located when the pod was deleted.  The container used to be Running';
  return {
    ...status,
    restartCount: status.restartCount + (pod.metadata.deletionTimestamp === undefined ? 1 : 0),
    lastState: { terminated: { exitCode: 137, reason: 'ContainerStatusUnknown', message } },
  };
}

/** A container that the next sync should start, and that the last one could not, waits: the reason is why it could not. */
function withWaiting(
  input: ContainerStatusesInput,
  container: Container,
  newest: RuntimeContainerStatus | undefined,
  status: ContainerStatus,
  kind: ContainerKind,
): ContainerStatus {
  const { pod, waiting } = input;
  if (kind === 'init') {
    if (newest?.state === 'exited' && newest.exitCode === 0) return status;
    if (status.state?.waiting && isLostAfterInit(input, container, newest)) {
      const message =
        'Unable to get init container status from container runtime and pod has been initialized, treat it as exited normally';
      return { ...status, state: { terminated: { exitCode: 0, reason: 'Completed', message } } };
    }
  }
  // `constructor` is a valid name of a container.
  const why = Object.hasOwn(waiting, container.name) ? waiting[container.name] : undefined;
  if (!why || !isToBeStarted(pod, container, newest)) return status;
  return {
    ...status,
    lastState: status.state?.terminated ? { terminated: status.state.terminated } : (status.lastState ?? {}),
    state: { waiting: { reason: why.reason, message: why.message } },
  };
}

/** Upstream ShouldContainerBeRestarted. */
function isToBeStarted(pod: Pod, container: Container, newest: RuntimeContainerStatus | undefined): boolean {
  if (pod.metadata.deletionTimestamp !== undefined) return false;
  if (!newest || newest.state === 'created' || newest.state === 'unknown') return true;
  return newest.state === 'exited' && shouldRestartContainer(container, pod.spec, newest.exitCode);
}

/** The runtime has no record of the init container, but regular containers were created, which proves that it had completed. */
function isLostAfterInit(
  { pod, status }: ContainerStatusesInput,
  container: Container,
  newest: RuntimeContainerStatus | undefined,
): boolean {
  if (newest || isRestartableInitContainer(container)) return false;
  const names = new Set(pod.spec.containers.map(({ name }) => name));
  return status?.containers.some(({ name, state }) => names.has(name) && state !== 'unknown') ?? false;
}

/** `started` and `ready` of a container that no probe watches: it is both while it runs (upstream prober_manager.go UpdatePodStatus). */
function withReadiness(container: Container, status: ContainerStatus, kind: ContainerKind): ContainerStatus {
  if (kind === 'ephemeral') return status;
  const started = status.state?.running !== undefined;
  const completes = kind === 'init' && !isRestartableInitContainer(container);
  return { ...status, started, ready: completes ? status.state?.terminated?.exitCode === 0 : started };
}
