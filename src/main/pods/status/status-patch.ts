/**
 * Computes the patch of a pod's status: a strategic merge patch of the fields that differ from the last known object, with the UID as its
 * precondition. Pure. The server merges conditions by type, so other writers' conditions are kept even when the known object is stale.
 * Upstream: mergePodStatus and isPodStatusByKubeletEqual in pkg/kubelet/status, pkg/util/pod.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Pod, PodCondition, PodStatus } from '../../../shared/kubernetes/api.ts';
import { isTerminalPhase } from '../../../shared/kubernetes/pod-phase.ts';
import { isReadyTrue } from '../../../shared/kubernetes/ready-condition.ts';
import { disruptionTarget, ownConditionTypes, transientConditionTypes } from '../api-status/index.ts';

export interface StatusToSend {
  readonly status: PodStatus;
  /** While true, no terminal phase is reported: the scheduler would give the pod's resources to another pod. */
  readonly couldHaveRunningContainers: boolean;
}

/**
 * Returns the status that the API server should have. A terminal phase on the server is kept; our own is withheld until no container runs.
 * Start time and QoS class never change once set, and the observed generation never decreases.
 */
export function toApiStatus(base: PodStatus, { status, couldHaveRunningContainers }: StatusToSend): PodStatus {
  const keepsPhase = isTerminalPhase(base.phase)
    ? base.phase !== status.phase
    : couldHaveRunningContainers && isTerminalPhase(status.phase);
  const { phase, reason, message, ...rest } = status;
  // Another writer may have set the terminal phase with a reason that this kubelet does not know.
  const keepsReason = isTerminalPhase(base.phase) && base.phase === phase && !reason && !message;
  const reported = keepsPhase || keepsReason ? base : { phase, reason, message };
  const startTime = base.startTime ?? status.startTime;
  const qosClass = base.qosClass ?? status.qosClass;
  const observedGeneration = Math.max(base.observedGeneration ?? 0, status.observedGeneration ?? 0);
  return {
    ...rest,
    conditions: conditionsToSend(base, status, couldHaveRunningContainers).filter(
      (condition) => !isTerminalPhase(reported.phase) || !isAnyReadyTrue(condition),
    ),
    ...(reported.phase ? { phase: reported.phase } : {}),
    ...(reported.reason ? { reason: reported.reason } : {}),
    ...(reported.message ? { message: reported.message } : {}),
    ...(startTime ? { startTime } : {}),
    ...(qosClass ? { qosClass } : {}),
    ...(observedGeneration > 0 ? { observedGeneration } : {}),
  };
}

/** The kubelet's own conditions. DisruptionTarget is sent in the same patch as the terminal phase. */
function conditionsToSend(base: PodStatus, status: PodStatus, couldHaveRunningContainers: boolean): PodCondition[] {
  const hasEnded = !isTerminalPhase(base.phase) && isTerminalPhase(status.phase) && !couldHaveRunningContainers;
  return (status.conditions ?? []).filter(({ type }) => ownConditionTypes.has(type) || (hasEnded && type === disruptionTarget));
}

/** A pod in a terminal phase is never ready, whatever its containers' statuses are. */
function isAnyReadyTrue(condition: PodCondition): boolean {
  return isReadyTrue(condition) || (condition.type === 'ContainersReady' && condition.status === 'True');
}

export interface StatusPatch {
  readonly metadata: { readonly uid: string; readonly resourceVersion?: string };
  readonly status: Readonly<Record<string, unknown>>;
}

/** Fields that the patch removes when they are absent from the new status. */
const ownFields = [
  'phase',
  'reason',
  'message',
  'podIP',
  'initContainerStatuses',
  'containerStatuses',
  'ephemeralContainerStatuses',
] as const;
/** Fields that the patch keeps when they are absent: the node's addresses may not be known yet, the others are permanent. */
const lastingFields = ['hostIP', 'startTime', 'qosClass', 'observedGeneration'] as const;
/** Map fields, which the server merges key by key. */
const resourceFields = ['resources', 'allocatedResources'] as const;
/** Lists that the server merges by `ip` unless the patch has a `$patch: replace` directive. */
const addressLists = ['podIPs', 'hostIPs'] as const;

/**
 * Returns the patch that turns `base`'s status into `next`, the result of `toApiStatus`. Null when they are equal. A patch that changes the
 * phase carries the resource version: if another writer has set a terminal phase meanwhile, the patch fails with a conflict.
 */
export function statusPatch(base: Pod, next: PodStatus): StatusPatch | null {
  const previousStatus = base.status ?? {};
  const changes: Record<string, unknown> = {};
  for (const field of ownFields) if (!isSame(previousStatus[field], next[field])) changes[field] = next[field] ?? null;
  for (const field of lastingFields) if (next[field] !== undefined && previousStatus[field] !== next[field]) changes[field] = next[field];
  // A list that the server replaces. It is kept when it is absent: without its feature gate the kubelet does not own it.
  if (next.volumeHealth && !isSame(previousStatus.volumeHealth, next.volumeHealth)) changes['volumeHealth'] = next.volumeHealth;
  for (const field of addressLists) {
    const addresses = next[field] ?? (field === 'hostIPs' ? previousStatus[field] : []) ?? [];
    if (!isSame(previousStatus[field], addresses)) changes[field] = [...addresses, { $patch: 'replace' }];
  }
  for (const field of resourceFields) {
    // A pod without requests has empty resources, as upstream.
    const isSamePresence = (previousStatus[field] === undefined) === (next[field] === undefined);
    if (!isSamePresence || !isSame(previousStatus[field], next[field])) changes[field] = replacing(previousStatus[field], next[field]);
  }
  const conditions = [
    ...(next.conditions ?? []).flatMap((condition) => changedCondition(previousStatus, condition)),
    ...removedConditions(previousStatus, next),
  ];
  if (conditions.length > 0) changes['conditions'] = conditions;
  if (Object.keys(changes).length === 0) return null;
  const { uid, resourceVersion } = base.metadata;
  const needsVersion = 'phase' in changes && resourceVersion !== undefined;
  return { metadata: { uid, ...(needsVersion ? { resourceVersion } : {}) }, status: changes };
}

/** Returns the status that the server has after the patch from `base` to `next`. */
export function patchedStatus({ status: base = {} }: Pod, next: PodStatus): PodStatus {
  const removed: ReadonlySet<string> = new Set([...ownFields, ...resourceFields, 'podIPs']);
  const kept = Object.entries(base).filter(([field]) => !removed.has(field));
  const changed = Object.entries(next).filter(([, value]) => value !== undefined);
  const isNext = (type: string) => next.conditions?.some((condition) => condition.type === type);
  const conditions = [
    ...(base.conditions ?? []).filter(({ type }) => !isNext(type) && !transientConditionTypes.has(type)),
    ...(next.conditions ?? []),
  ];
  return Object.fromEntries([...kept, ...changed, ...(conditions.length > 0 ? [['conditions', conditions] as const] : [])]) as PodStatus;
}

type Resources = Readonly<Record<string, unknown>>;

/** The server merges maps key by key: a null value removes the key. */
function replacing(previousResources: Resources | undefined, nextResources: Resources | undefined): Resources | null {
  if (nextResources === undefined) return null;
  const removed = Object.keys(previousResources ?? {}).filter((key) => nextResources[key] === undefined);
  const replacement = Object.entries(nextResources).map(([key, value]): [string, unknown] => {
    const isMap = typeof value === 'object' && value !== null && !Array.isArray(value);
    return [key, isMap ? replacing(previousResources?.[key] as Resources | undefined, value as Resources) : value];
  });
  return Object.fromEntries([...replacement, ...removed.map((key) => [key, null])]);
}

function removedConditions({ conditions = [] }: PodStatus, next: PodStatus): object[] {
  const isRemoved = (type: string) => transientConditionTypes.has(type) && !next.conditions?.some((condition) => condition.type === type);
  return conditions.filter(({ type }) => isRemoved(type)).map(({ type }) => ({ type, $patch: 'delete' }));
}

/** Empty when the conditions differ in nothing but the transition time. */
function changedCondition({ conditions }: PodStatus, next: PodCondition): object[] {
  const previousCondition = conditions?.find(({ type }) => type === next.type);
  const isUnchanged =
    previousCondition?.status === next.status &&
    (previousCondition.reason ?? '') === (next.reason ?? '') &&
    (previousCondition.message ?? '') === (next.message ?? '') &&
    (next.observedGeneration === undefined || previousCondition.observedGeneration === next.observedGeneration);
  if (isUnchanged) return [];
  return [
    {
      ...next,
      ...(previousCondition?.reason && !next.reason ? { reason: null } : {}),
      ...(previousCondition?.message && !next.message ? { message: null } : {}),
    },
  ];
}

/** Treats empty and absent values as equal: the server omits empty fields. */
function isSame(a: unknown, b: unknown): boolean {
  return isDeepStrictEqual(withoutEmpty(a), withoutEmpty(b));
}

function withoutEmpty(value: unknown): unknown {
  if (value === null || value === '') return undefined;
  if (typeof value !== 'object') return value;
  if (Array.isArray(value)) return value.length === 0 ? undefined : value.map(withoutEmpty);
  const entries = Object.entries(value)
    .map(([key, field]) => [key, withoutEmpty(field)] as const)
    .filter(([, field]) => field !== undefined);
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}
