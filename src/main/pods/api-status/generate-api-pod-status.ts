/**
 * Generates a pod's API status from its runtime status and its previous API status. Pure. Upstream: generateAPIPodStatus in
 * kubelet_pods.go, status/generate.go.
 *
 * Unlike upstream, a pod for which the runtime does not respond (a hung container) shows that in its `reason` and `message`.
 */
import type { ActuatedPod, PodCgroupDifference } from '../../../shared/contracts/pod-sync/allocation.ts';
import type { NodeInfo } from '../../../shared/contracts/node-info.ts';
import { isFailureReason, type RuntimePodStatus } from '../../../shared/contracts/runtime-status.ts';
import type { Container, ContainerStatus, PodStatus } from '../../../shared/kubernetes/api.ts';
import type { AllocatedPod } from '../../allocation/index.ts';
import type { ContainerID } from '../../../shared/kubernetes/ids.ts';
import { qosClass } from '../../../shared/kubernetes/qos-class.ts';
import type { ContainerProbeResults } from '../../probes/index.ts';
import { generateConditions } from './conditions.ts';
import { generateContainerStatuses } from './container-statuses.ts';
import { hasGuessedExit, withPreviousAddresses } from './listed-only.ts';
import { computePhase } from './phase.ts';
import { isStaticPod } from '../../../shared/kubernetes/static-pod.ts';
import { podAddresses } from './pod-addresses.ts';
import { podResourcesStatus } from './pod-resources-status.ts';
import type { PodResizeConditions } from '../../allocation/index.ts';
import { isRestartingAll } from './restart-all.ts';
import { truncateTerminationMessages } from './termination-messages.ts';
import { toTerminatedStatuses } from './terminated-pod.ts';
import type { RestartGates } from '../../../shared/kubernetes/restart-policy.ts';
import { toApiTime } from '../../../shared/kubernetes/api-time.ts';
import { isTerminalPhase } from '../../../shared/kubernetes/pod-phase.ts';
import type { WaitingReasons } from '../../../shared/kubernetes/waiting-reasons.ts';

/** The feature gates that change statuses. */
export interface StatusFeatures {
  /** Gates ContainerRestartRules and RestartAllContainersOnContainerExits. */
  readonly restartGates: RestartGates;
  /** Gate PodLevelResources. */
  readonly podLevelResources: boolean;
  /** Gate InPlacePodLevelResourcesVerticalScaling: the pod's own `resources` and `allocatedResources`. */
  readonly podResources: boolean;
  /** Gate ContainerStopSignals. */
  readonly stopSignals: boolean;
  /** Gate ImageVolumeWithDigest. */
  readonly imageVolumeRefs: boolean;
  /** Gate CSIVolumeHealth: the kubelet owns the field `volumeHealth`. */
  readonly volumeHealth: boolean;
}

export interface ApiStatusInput extends StatusFeatures {
  readonly pod: AllocatedPod;
  /** The conditions of a resize that has not ended. */
  readonly resize?: PodResizeConditions;
  /** The pod with the resources that are in force. */
  readonly actuated: ActuatedPod;
  /** Where the pod's cgroup is not as it was allocated. */
  readonly podCgroup?: PodCgroupDifference;
  /** Null when the runtime has neither a sandbox nor a container of the pod. */
  readonly status: RuntimePodStatus | null;
  /** The last result of this function; undefined for a pod that is new to this kubelet. */
  readonly previous: PodStatus | undefined;
  /** `previous` was read from a static pod's mirror pod, where an earlier kubelet wrote it. */
  readonly isPreviousFromMirror?: boolean;
  /** Why containers wait, from the last sync. */
  readonly waiting: WaitingReasons;
  /** Returns the results of an instance's probes. */
  readonly probeResults: (id: ContainerID) => ContainerProbeResults | undefined;
  /** Whether the postStart hook of an instance may still run. */
  readonly isStarting: (container: Container, id: ContainerID) => boolean;
  readonly node: Pick<NodeInfo, 'hostIPs' | 'runtimeName'> & Partial<Pick<NodeInfo, 'runtimeHandlers'>>;
  readonly lifecycle: {
    /** No container of the pod is started again. */
    readonly terminating: boolean;
    /** All containers have stopped. The sandbox may still be there. */
    readonly ended: boolean;
    /** The reason why the pod ends as Failed (an eviction, a deadline). `disruption` is the content of its DisruptionTarget condition. */
    readonly failed?: {
      readonly reason: string;
      readonly message: string;
      readonly disruption?: { readonly reason: string; readonly message: string };
    };
  };
  readonly nowMs: number;
}

export function generateApiPodStatus(given: ApiStatusInput): PodStatus {
  const { pod, previous, lifecycle, restartGates: gates } = given;
  const { restartAllContainersOnContainerExits: restartAllContainers } = gates;
  const previousStatus = previous ?? pod.status;
  const status = withPreviousAddresses(pod, given.status, previousStatus);
  const input = { ...given, status };
  const restarting = restartAllContainers && isRestartingAll(pod, status, previousStatus);
  const containers = containerStatuses({ ...input, restarting }, previousStatus);
  const allStatuses = [...containers.containerStatuses, ...containers.initContainerStatuses];
  const computed = computePhase(pod, allStatuses, {
    terminating: lifecycle.terminating,
    hasInitialized: hasStartedRegularContainer(input),
    restarting,
    gates,
  });
  // A guessed exit code gives no terminal phase: the phase would be final, and the runtime's answer may show another exit code.
  const isGuess = isTerminalPhase(computed) && !lifecycle.ended && hasGuessedExit(status, previousStatus);
  const phase = computeReportedPhase(input, isGuess ? (previousStatus?.phase ?? 'Pending') : computed, previousStatus?.phase);
  const now = toApiTime(input.nowMs);
  const disruption = lifecycle.failed?.disruption;
  return truncateTerminationMessages(pod, {
    ...(pod.metadata.generation ? { observedGeneration: pod.metadata.generation } : {}),
    phase,
    conditions: generateConditions({
      ...input,
      previousStatus,
      statuses: allStatuses,
      phase,
      restarting,
      restartAllContainers,
      disruption,
      now,
    }),
    ...reasonOf(input, phase, previousStatus),
    // A terminating pod keeps its addresses after its sandbox is gone.
    ...(lifecycle.terminating && previousStatus?.podIP
      ? { podIP: previousStatus.podIP, podIPs: previousStatus.podIPs ?? [{ ip: previousStatus.podIP }] }
      : {}),
    ...podAddresses(pod, status, input.node.hostIPs),
    startTime: previousStatus?.startTime ?? now,
    ...(containers.initContainerStatuses.length > 0 ? { initContainerStatuses: containers.initContainerStatuses } : {}),
    containerStatuses: containers.containerStatuses,
    ...(containers.ephemeralContainerStatuses.length > 0 ? { ephemeralContainerStatuses: containers.ephemeralContainerStatuses } : {}),
    qosClass: previousStatus?.qosClass ?? qosClass(pod),
    ...(given.volumeHealth && previousStatus?.volumeHealth && { volumeHealth: previousStatus.volumeHealth }),
    ...(given.podResources &&
      podResourcesStatus({
        pod,
        inForce: phase === 'Running' ? given.actuated : null,
        podLevelResources: given.podLevelResources,
        ...(given.podCgroup && { podCgroup: given.podCgroup }),
      })),
  });
}

type ContainerStatuses = Record<'initContainerStatuses' | 'containerStatuses' | 'ephemeralContainerStatuses', readonly ContainerStatus[]>;

function containerStatuses(
  input: ApiStatusInput & { readonly restarting: boolean },
  previousStatus: PodStatus | undefined,
): ContainerStatuses {
  const { spec } = input.pod;
  const statuses = {
    initContainerStatuses: generateContainerStatuses(input, spec.initContainers ?? [], previousStatus?.initContainerStatuses ?? [], 'init'),
    containerStatuses: generateContainerStatuses(input, spec.containers, previousStatus?.containerStatuses ?? [], 'regular'),
    ephemeralContainerStatuses: generateContainerStatuses(
      input,
      spec.ephemeralContainers ?? [],
      previousStatus?.ephemeralContainerStatuses ?? [],
      'ephemeral',
    ),
  };
  return input.lifecycle.ended ? { ...statuses, ...toTerminatedStatuses(input.pod, statuses) } : statuses;
}

/**
 * A pod never leaves a terminal phase. A pod whose containers have all stopped gets a terminal phase unless it is static
 * (upstream TerminatePod).
 */
function computeReportedPhase({ pod, lifecycle }: ApiStatusInput, computed: string, previousPhase: string | undefined): string {
  const api = pod.status?.phase;
  if (isTerminalPhase(api)) return api;
  if (lifecycle.failed) return 'Failed';
  if (isTerminalPhase(computed)) return computed;
  if (isTerminalPhase(previousPhase)) return previousPhase;
  return lifecycle.ended && !isStaticPod(pod) ? 'Failed' : computed;
}

function reasonOf(
  { pod, status, lifecycle }: ApiStatusInput,
  phase: string,
  previousStatus: PodStatus | undefined,
): Pick<PodStatus, 'reason' | 'message'> {
  const terminal = isTerminalPhase(phase);
  const source =
    (phase === 'Failed' ? lifecycle.failed : undefined) ??
    (terminal && previousStatus?.phase === phase ? previousStatus : undefined) ??
    (terminal ? undefined : status?.failure) ??
    foreignReason(pod.status, phase);
  return { ...(source?.reason ? { reason: source.reason } : {}), ...(source?.message ? { message: source.message } : {}) };
}

/** The reason that another client wrote for this phase. A runtime failure is the kubelet's own reason and is not kept. */
function foreignReason(api: PodStatus | undefined, phase: string): PodStatus | undefined {
  return api?.phase === phase && !isFailureReason(api.reason) ? api : undefined;
}

/** True when a regular container was started in the current sandbox, which proves that the pod has initialized. */
function hasStartedRegularContainer({ pod, status }: ApiStatusInput): boolean {
  const sandbox = status?.sandboxes[0];
  if (!status || !sandbox) return false;
  const names = new Set(pod.spec.containers.map(({ name }) => name));
  return status.containers.some((container) => container.sandboxID === sandbox.id && names.has(container.name));
}
