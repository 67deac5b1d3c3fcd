/**
 * Generates the pod conditions that the kubelet owns, and keeps those of other writers (upstream status/generate.go). A condition's
 * transition time changes only with its status.
 */
import type { RuntimePodStatus } from '../../../shared/contracts/runtime-status.ts';
import type { Container, ContainerStatus, Pod, PodCondition, PodStatus } from '../../../shared/kubernetes/api.ts';
import { podSandboxChanged, sandboxNotReady } from '../../../shared/runtime/pod-sandbox.ts';
import { isRestartableInitContainer } from '../../../shared/kubernetes/restart-policy.ts';
import { toApiTime } from '../../../shared/kubernetes/api-time.ts';
import type { PodResizeConditions, ResizeCondition } from '../../allocation/index.ts';
import { allContainersRestartingCondition, hasRestartAllRule } from './restart-all.ts';

/** The conditions that only the kubelet writes: upstream types.PodConditionsByKubelet with those behind default-on gates. */
export const ownConditionTypes: ReadonlySet<string> = new Set([
  'PodScheduled',
  'Ready',
  'Initialized',
  'ContainersReady',
  'PodReadyToStartContainers',
  'AllContainersRestarting',
  'PodResizePending',
  'PodResizeInProgress',
]);

/** Own conditions that are removed when they do not apply. All others are always present. */
export const transientConditionTypes: ReadonlySet<string> = new Set(['PodResizePending', 'PodResizeInProgress']);

/** The condition that every client that disrupts a pod may write (upstream: PodConditionSharedByKubelet). */
export const disruptionTarget = 'DisruptionTarget';

export interface ConditionsInput {
  readonly pod: Pod;
  readonly status: RuntimePodStatus | null;
  readonly previousStatus: PodStatus | undefined;
  readonly statuses: readonly ContainerStatus[];
  readonly phase: string;
  readonly lifecycle: { readonly ended: boolean };
  /** The pod is restarting all of its containers (isRestartingAll). */
  readonly restarting: boolean;
  /** Gate RestartAllContainersOnContainerExits. */
  readonly restartAllContainers: boolean;
  /** Why this kubelet ends the pod (an eviction, a node shutdown). */
  readonly disruption?: { readonly reason: string; readonly message: string } | undefined;
  /** The conditions of a resize that has not ended. */
  readonly resize?: PodResizeConditions;
  readonly now: string;
}

type ConditionContent = Pick<PodCondition, 'status' | 'reason' | 'message'>;

export function generateConditions(input: ConditionsInput): PodCondition[] {
  const { pod, status, phase, restarting, lifecycle } = input;
  const foreign = (pod.status?.conditions ?? []).filter(({ type }) => !ownConditionTypes.has(type));
  const disruption = disruptionCondition(input);
  const foreignConditions = disruption ? [...foreign.filter(({ type }) => type !== disruptionTarget), disruption] : foreign;
  const containersReady = containersReadyCondition(input);
  const kubeletConditions: readonly (readonly [string, ConditionContent])[] = [
    ['PodReadyToStartContainers', sandboxCondition(input)],
    ['Initialized', initializedCondition(input)],
    ['Ready', containersReady.status === 'True' ? readinessGatesCondition(pod, foreignConditions) : containersReady],
    ['ContainersReady', containersReady],
    ['PodScheduled', { status: 'True' }],
    ...(input.restartAllContainers && hasRestartAllRule(pod.spec)
      ? [['AllContainersRestarting', allContainersRestartingCondition(pod, status, restarting, phase)] as const]
      : []),
  ];
  const { pending, inProgress } = (!lifecycle.ended && input.resize) || {};
  const resizeConditions = [
    ...(pending ? [toResizeCondition('PodResizePending', pending)] : []),
    ...(inProgress ? [toResizeCondition('PodResizeInProgress', inProgress)] : []),
  ];
  return [...foreignConditions, ...resizeConditions, ...kubeletConditions.map(([type, content]) => toCondition(type, content, input))];
}

/** A resize condition has the generation of its resize, and its transition time changes with the reason (upstream updatedPodResizeCondition). */
function toResizeCondition(type: string, { reason, message, observedGeneration, sinceMs }: ResizeCondition): PodCondition {
  return {
    type,
    ...(observedGeneration ? { observedGeneration } : {}),
    lastTransitionTime: toApiTime(sinceMs),
    status: 'True',
    ...(reason && { reason }),
    ...(message && { message }),
  };
}

function sandboxCondition({ pod, status, lifecycle }: ConditionsInput): ConditionContent {
  const { changed, reason = sandboxNotReady } = podSandboxChanged(pod, status);
  return changed || lifecycle.ended ? { status: 'False', reason: 'PodSandboxNotReady', message: reason } : { status: 'True' };
}

/** Returns the DisruptionTarget condition. Once set, it stays. */
function disruptionCondition(input: ConditionsInput): PodCondition | undefined {
  const { disruption, previousStatus } = input;
  if (disruption) return toCondition(disruptionTarget, { status: 'True', ...disruption }, input);
  return previousStatus?.conditions?.find(({ type }) => type === disruptionTarget);
}

function toCondition(type: string, content: ConditionContent, { pod, previousStatus, now }: ConditionsInput): PodCondition {
  const previousCondition = previousStatus?.conditions?.find((condition) => condition.type === type);
  const lastTransitionTime = previousCondition?.status === content.status ? (previousCondition.lastTransitionTime ?? now) : now;
  const { generation } = pod.metadata;
  return { type, ...(generation ? { observedGeneration: generation } : {}), lastTransitionTime, ...content };
}

function containersReadyCondition({ pod, statuses, phase }: ConditionsInput): ConditionContent {
  const sidecars = (pod.spec.initContainers ?? []).filter(isRestartableInitContainer);
  const { unknown, unsatisfied } = unsatisfiedContainers([...sidecars, ...pod.spec.containers], statuses, (_, status) => status.ready);
  if (phase === 'Succeeded' && unknown.length === 0) return { status: 'False', reason: 'PodCompleted' };
  if (phase === 'Failed') return { status: 'False', reason: 'PodFailed' };
  const message = describe(unknown, unsatisfied, 'unready');
  return message === '' ? { status: 'True' } : { status: 'False', reason: 'ContainersNotReady', message };
}

function initializedCondition({ pod, statuses, phase, previousStatus, restartAllContainers }: ConditionsInput): ConditionContent {
  const { unknown, unsatisfied } = unsatisfiedContainers(pod.spec.initContainers ?? [], statuses, (container, status) =>
    isRestartableInitContainer(container) ? status.started === true : status.ready,
  );
  if (phase === 'Succeeded' && unknown.length === 0) return { status: 'True', reason: 'PodCompleted' };
  const regular = new Set(pod.spec.containers.map(({ name }) => name));
  if (statuses.some(({ name, state }) => regular.has(name) && (state?.running ?? state?.terminated))) return { status: 'True' };
  const message = describe(unknown, unsatisfied, 'incomplete');
  // An initialized pod stays initialized while all of its containers restart.
  const wasInitialized = previousStatus?.conditions?.some(({ type, status }) => type === 'Initialized' && status === 'True') ?? false;
  if (message === '' || (restartAllContainers && wasInitialized)) return { status: 'True' };
  return { status: 'False', reason: 'ContainersNotInitialized', message };
}

function readinessGatesCondition(pod: Pod, conditions: readonly PodCondition[]): ConditionContent {
  const problems = (pod.spec.readinessGates ?? []).flatMap(({ conditionType }) => {
    const condition = conditions.find(({ type }) => type === conditionType);
    if (!condition) return [`corresponding condition of pod readiness gate "${conditionType}" does not exist.`];
    return condition.status === 'True'
      ? []
      : [`the status of pod readiness gate "${conditionType}" is not "True", but ${condition.status}`];
  });
  return problems.length === 0 ? { status: 'True' } : { status: 'False', reason: 'ReadinessGatesNotReady', message: problems.join(', ') };
}

/** Returns the names of containers without a status, and of containers whose status does not satisfy `isSatisfied`. */
function unsatisfiedContainers(
  containers: readonly Container[],
  statuses: readonly ContainerStatus[],
  isSatisfied: (container: Container, status: ContainerStatus) => boolean,
) {
  const unknown: string[] = [];
  const unsatisfied: string[] = [];
  for (const container of containers) {
    const status = statuses.find(({ name }) => name === container.name);
    if (!status) unknown.push(container.name);
    else if (!isSatisfied(container, status)) unsatisfied.push(container.name);
  }
  return { unknown, unsatisfied };
}

/** Prints lists in Go's format: `[a b]`. */
function describe(unknown: readonly string[], unsatisfied: readonly string[], adjective: string): string {
  return [
    ...(unknown.length > 0 ? [`containers with unknown status: [${unknown.join(' ')}]`] : []),
    ...(unsatisfied.length > 0 ? [`containers with ${adjective} status: [${unsatisfied.join(' ')}]`] : []),
  ].join(', ');
}
