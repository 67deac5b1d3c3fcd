/**
 * What the API says of a pod, made from what the runtime says: `generateApiPodStatus`. Pure; asked whenever a fresh runtime status
 * arrives and before each sync. Upstream: kubelet_pods.go generateAPIPodStatus, status/generate.go.
 *
 * Beyond upstream: a pod of which the runtime does not answer (a wedged container) says so in its `reason` and `message`.
 */
import type { NodeFacts } from '../../../shared/contracts/node-facts.ts';
import { isFailureReason, type RuntimePodStatus } from '../../../shared/contracts/runtime-status.ts';
import type { ContainerStatus, Pod, PodStatus } from '../../../shared/kubernetes/api.ts';
import { qosClass } from '../../../shared/kubernetes/qos-class.ts';
import { generateConditions } from './conditions.ts';
import { generateContainerStatuses, type WaitingReasons } from './container-statuses.ts';
import { withPreviousAddresses } from './listed-only.ts';
import { computePhase, isTerminalPhase } from './phase.ts';
import { isStaticPod } from '../static/static-pod.ts';
import { podAddresses } from './pod-addresses.ts';
import { podResourcesStatus } from './pod-resources-status.ts';
import { isRestartingAll } from './restart-all.ts';
import { truncateTerminationMessages } from './termination-messages.ts';
import { toTerminatedStatuses } from './terminated-pod.ts';
import { toApiTime } from '../../../shared/kubernetes/api-time.ts';

/** By their gates. */
export interface StatusFeatures {
  /** Gate RestartAllContainersOnContainerExits; absent: on, as in v1.36. */
  readonly restartAllContainers?: boolean;
  /** Gate PodLevelResources; absent: on. */
  readonly podLevelResources?: boolean;
  /** Gate InPlacePodLevelResourcesVerticalScaling: the pod's own `resources` and `allocatedResources`; absent: on. */
  readonly podResources?: boolean;
  /** Gate ContainerStopSignals; absent: off. */
  readonly stopSignals?: boolean;
  /** Gate ImageVolumeWithDigest; absent: off. */
  readonly imageVolumeRefs?: boolean;
}

export interface ApiStatusInput extends StatusFeatures {
  /** With the resources that it was admitted with. */
  readonly pod: Pod;
  /** Its spec asks for other resources than it has. */
  readonly pendingResize?: { readonly reason: string; readonly message: string };
  /** Null: the runtime has nothing of it. */
  readonly status: RuntimePodStatus | null;
  /** What this function said last; absent for a pod that is new to this kubelet. */
  readonly previous: PodStatus | undefined;
  /** `previous` is what an earlier kubelet said of a static pod, read from its mirror pod. */
  readonly isPreviousOfMirror?: boolean;
  /** Why containers do not run, from the last sync. */
  readonly waiting: WaitingReasons;
  readonly node: Pick<NodeFacts, 'hostIPs' | 'runtimeName'> & Partial<Pick<NodeFacts, 'runtimeHandlers'>>;
  readonly lifecycle: {
    /** None of its containers will be started again. */
    readonly terminating: boolean;
    /** And none of them runs any more. Its sandbox may be about to go. */
    readonly ended: boolean;
    /** It is to end as Failed for this reason (an eviction, a deadline); `disruption` is its condition DisruptionTarget, if it is one. */
    readonly failed?: {
      readonly reason: string;
      readonly message: string;
      readonly disruption?: { readonly reason: string; readonly message: string };
    };
  };
  readonly nowMs: number;
}

export function generateApiPodStatus(asked: ApiStatusInput): PodStatus {
  const { pod, previous, lifecycle, restartAllContainers = true } = asked;
  const before = previous ?? pod.status;
  const status = withPreviousAddresses(pod, asked.status, before);
  const input = { ...asked, status };
  const restarting = restartAllContainers && isRestartingAll(pod, status, before);
  const containers = containerStatuses({ ...input, restarting }, before);
  const all = [...containers.containerStatuses, ...containers.initContainerStatuses];
  const computed = computePhase(pod, all, lifecycle.terminating, hasStartedRegularContainer(input));
  const phase = phaseOf(input, computed, before?.phase);
  const now = toApiTime(input.nowMs);
  const disruption = lifecycle.failed?.disruption;
  return truncateTerminationMessages(pod, {
    ...(pod.metadata.generation ? { observedGeneration: pod.metadata.generation } : {}),
    phase,
    conditions: generateConditions({ ...input, before, statuses: all, phase, restarting, restartAllContainers, disruption, now }),
    ...reasonOf(input, phase, before),
    // The sandbox of a pod that ends goes before the pod does.
    ...(lifecycle.terminating && before?.podIP ? { podIP: before.podIP, podIPs: before.podIPs ?? [{ ip: before.podIP }] } : {}),
    ...podAddresses(pod, status, input.node.hostIPs),
    startTime: before?.startTime ?? now,
    ...(containers.initContainerStatuses.length > 0 ? { initContainerStatuses: containers.initContainerStatuses } : {}),
    containerStatuses: containers.containerStatuses,
    ...(containers.ephemeralContainerStatuses.length > 0 ? { ephemeralContainerStatuses: containers.ephemeralContainerStatuses } : {}),
    qosClass: before?.qosClass ?? qosClass(pod),
    ...((asked.podResources ?? true) && podResourcesStatus(pod, phase === 'Running', asked.podLevelResources ?? true)),
  });
}

type ContainerStatuses = Record<'initContainerStatuses' | 'containerStatuses' | 'ephemeralContainerStatuses', readonly ContainerStatus[]>;

function containerStatuses(input: ApiStatusInput & { readonly restarting: boolean }, before: PodStatus | undefined): ContainerStatuses {
  const { spec } = input.pod;
  const statuses = {
    initContainerStatuses: generateContainerStatuses(input, spec.initContainers ?? [], before?.initContainerStatuses ?? [], 'init'),
    containerStatuses: generateContainerStatuses(input, spec.containers, before?.containerStatuses ?? [], 'regular'),
    ephemeralContainerStatuses: generateContainerStatuses(
      input,
      spec.ephemeralContainers ?? [],
      before?.ephemeralContainerStatuses ?? [],
      'ephemeral',
    ),
  };
  return input.lifecycle.ended ? { ...statuses, ...toTerminatedStatuses(input.pod, statuses) } : statuses;
}

/** A pod never leaves a terminal phase, whoever said it; and one of which nothing is left to run has one, if it is not a static pod (upstream TerminatePod). */
function phaseOf({ pod, lifecycle }: ApiStatusInput, computed: string, before: string | undefined): string {
  const api = pod.status?.phase;
  if (isTerminalPhase(api)) return api;
  if (lifecycle.failed) return 'Failed';
  if (isTerminalPhase(computed)) return computed;
  if (isTerminalPhase(before)) return before;
  return lifecycle.ended && !isStaticPod(pod) ? 'Failed' : computed;
}

function reasonOf(
  { pod, status, lifecycle }: ApiStatusInput,
  phase: string,
  before: PodStatus | undefined,
): Pick<PodStatus, 'reason' | 'message'> {
  const terminal = isTerminalPhase(phase);
  const source =
    (phase === 'Failed' ? lifecycle.failed : undefined) ??
    (terminal && before?.phase === phase ? before : undefined) ??
    (terminal ? undefined : status?.failure) ??
    saidByOthers(pod.status, phase);
  return { ...(source?.reason ? { reason: source.reason } : {}), ...(source?.message ? { message: source.message } : {}) };
}

/** What others have said of a pod in this phase. That its runtime does not answer was our own word, and holds while it is so. */
function saidByOthers(api: PodStatus | undefined, phase: string): PodStatus | undefined {
  return api?.phase === phase && !isFailureReason(api.reason) ? api : undefined;
}

/** One of the pod's regular containers was started in its present sandbox: then all that had to be initialized has been. */
function hasStartedRegularContainer({ pod, status }: ApiStatusInput): boolean {
  const sandbox = status?.sandboxes[0];
  if (!status || !sandbox) return false;
  const names = new Set(pod.spec.containers.map(({ name }) => name));
  return status.containers.some((container) => container.sandboxID === sandbox.id && names.has(container.name));
}
