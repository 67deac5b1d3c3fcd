/** The urgency of a start, computed from the pod and its task. Pure. */
import type { ProbeVerdicts } from '../../../shared/contracts/pod-sync/task.ts';
import type { Pod } from '../../../shared/kubernetes/api.ts';
import type { ContainerID } from '../../../shared/kubernetes/ids.ts';
import { podWeight } from '../../threads/pod-weight.ts';
import type { PodTask } from '../../threads/task-channel.ts';
import { firstSeenMs } from '../first-seen.ts';
import { isCriticalPod, nodeCriticalPriority } from '../../../shared/kubernetes/critical-pod.ts';
import { isStaticPod } from '../../../shared/kubernetes/static-pod.ts';

export type StartKind = 'sandbox' | 'container';

/** What orders pods by importance; see ranksBefore. */
export interface StartRank {
  /** `spec.priority`; the highest priority for static pods. */
  readonly priority: number;
  /** Wall-clock ms at which the kubelet first saw the pod; see firstSeenMs. */
  readonly podSeenAtMs: number;
}

export interface StartRequest extends StartRank {
  readonly kind: StartKind;
  /** The pod ran before, and its containers start again: they have exited, or are stopped for a failed probe. */
  readonly restart: boolean;
  /** Upstream: kubetypes.IsCriticalPod. */
  readonly critical: boolean;
  /** The pod is so large that its start takes the runtime long. */
  readonly large: boolean;
}

/** Bytes that a copy of the pod takes (podWeight). From this size on, the sync pool also limits the tasks of pods (threads/weight-limiter.ts). */
const largeWeight = 256 * 1024;

/** The task of a pod that ends gets the highest priority: it waits behind no pod that starts. */
export function startRequest(kind: StartKind, task: PodTask): StartRequest {
  if (task.kind !== 'sync') return { kind, restart: false, critical: true, large: false, priority: nodeCriticalPriority, podSeenAtMs: 0 };
  const { pod, status, probes } = task;
  const regular = new Set(pod.spec.containers.map(({ name }) => name));
  return {
    kind,
    restart:
      status?.containers.some(({ name, state, id }) => (state === 'exited' && regular.has(name)) || hasFailedProbe(probes, id)) ?? false,
    critical: isCriticalPod(pod),
    large: isLargePod(pod),
    ...startRank(pod),
  };
}

function hasFailedProbe(probes: ProbeVerdicts | undefined, id: ContainerID): boolean {
  return probes?.liveness.get(id) === 'failure' || probes?.startup.get(id) === 'failure';
}

export function isLargePod(pod: Pod): boolean {
  return podWeight(pod) >= largeWeight;
}

/** A static pod is critical at any priority. */
export function startRank(pod: Pod): StartRank {
  return { priority: isStaticPod(pod) ? nodeCriticalPriority : (pod.spec.priority ?? 0), podSeenAtMs: firstSeenMs(pod) };
}

/** Whether `a` is more important than `b`: by priority, then by age. */
export function ranksBefore(a: StartRank, b: StartRank): boolean {
  return a.priority === b.priority ? a.podSeenAtMs < b.podSeenAtMs : a.priority > b.priority;
}

/** Whether `a` starts before `b`: by restart (of small pods), priority, size, kind, then age. Equal requests start in the order of their arrival. */
export function startsBefore(a: StartRequest, b: StartRequest): boolean {
  const [aIsUrgent, bIsUrgent] = [a.restart && !a.large, b.restart && !b.large];
  if (aIsUrgent !== bIsUrgent) return aIsUrgent;
  if (a.priority !== b.priority) return a.priority > b.priority;
  if (a.large !== b.large) return b.large;
  // Containers precede sandboxes: otherwise no pod of a burst runs before the last pod has its sandbox.
  if (a.kind !== b.kind) return a.kind === 'container';
  return a.podSeenAtMs < b.podSeenAtMs;
}
