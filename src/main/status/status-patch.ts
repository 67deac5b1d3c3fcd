/**
 * What is written to the API server of a pod's status: pure. A strategic merge patch of what differs from the last known object, with the
 * UID as its precondition. Conditions are merged by type on the server, so those of others stay even where what is known here is old.
 * Upstream: mergePodStatus and isPodStatusByKubeletEqual in pkg/kubelet/status, pkg/util/pod.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Pod, PodCondition, PodStatus } from '../../shared/kubernetes/api.ts';
import { disruptionTarget, ownConditionTypes, transientConditionTypes } from '../pods/api-status/conditions.ts';
import { isTerminalPhase } from '../pods/api-status/phase.ts';

/** What is said of a pod is not said before its time, and nothing final is taken back. */
export interface StatusToSend {
  readonly status: PodStatus;
  /** One of its containers may still run: then no terminal phase is reported, since others would take what the pod still uses. */
  readonly couldHaveRunningContainers: boolean;
}

/**
 * The status as the API server is to have it. A terminal phase there stays; one of ours waits until nothing runs. What was set once and
 * never changes (start time, QoS class) stays as it is there, and the observed generation never falls.
 */
export function toApiStatus(base: PodStatus, { status, couldHaveRunningContainers: mayRun }: StatusToSend): PodStatus {
  const stays = isTerminalPhase(base.phase) ? base.phase !== status.phase : mayRun && isTerminalPhase(status.phase);
  const { phase, reason, message, ...rest } = status;
  // Why it ended may be known to whoever said so first, and to nobody here.
  const isSaid = isTerminalPhase(base.phase) && base.phase === phase && !reason && !message;
  const said = stays || isSaid ? base : { phase, reason, message };
  const startTime = base.startTime ?? status.startTime;
  const qosClass = base.qosClass ?? status.qosClass;
  const observedGeneration = Math.max(base.observedGeneration ?? 0, status.observedGeneration ?? 0);
  return {
    ...rest,
    conditions: conditionsToSend(base, status, mayRun).filter((condition) => !isTerminalPhase(said.phase) || !isReadiness(condition)),
    ...(said.phase ? { phase: said.phase } : {}),
    ...(said.reason ? { reason: said.reason } : {}),
    ...(said.message ? { message: said.message } : {}),
    ...(startTime ? { startTime } : {}),
    ...(qosClass ? { qosClass } : {}),
    ...(observedGeneration > 0 ? { observedGeneration } : {}),
  };
}

/** Our own; and why we ended the pod, together with the news that it has ended. */
function conditionsToSend(base: PodStatus, status: PodStatus, mayRun: boolean): PodCondition[] {
  const hasEnded = !isTerminalPhase(base.phase) && isTerminalPhase(status.phase) && !mayRun;
  return (status.conditions ?? []).filter(({ type }) => ownConditionTypes.has(type) || (hasEnded && type === disruptionTarget));
}

/** What a pod that has ended is not, whoever said that it has and however its containers are just now. */
function isReadiness({ type, status }: PodCondition): boolean {
  return status === 'True' && (type === 'Ready' || type === 'ContainersReady');
}

export interface StatusPatch {
  readonly metadata: { readonly uid: string; readonly resourceVersion?: string };
  readonly status: Readonly<Record<string, unknown>>;
}

/** Removed where they are absent here. */
const ownFields = [
  'phase',
  'reason',
  'message',
  'podIP',
  'initContainerStatuses',
  'containerStatuses',
  'ephemeralContainerStatuses',
] as const;
/** Left where they are absent here: the node's addresses may not be known yet, and the others never go. */
const lastingFields = ['hostIP', 'startTime', 'qosClass', 'observedGeneration'] as const;
/** Maps. */
const resourceFields = ['resources', 'allocatedResources'] as const;
/** Merged by their `ip` on the server, if it is not told otherwise. */
const addressLists = ['podIPs', 'hostIPs'] as const;

/**
 * The patch that makes `base` say `next` (of `toApiStatus`); null: it says so already. A patch that changes the phase holds only for the
 * very object that it was made from: a phase that somebody else made terminal meanwhile is a conflict, and stays.
 */
export function statusPatch(base: Pod, next: PodStatus): StatusPatch | null {
  const before = base.status ?? {};
  const changes: Record<string, unknown> = {};
  for (const field of ownFields) if (!isSame(before[field], next[field])) changes[field] = next[field] ?? null;
  for (const field of lastingFields) if (next[field] !== undefined && before[field] !== next[field]) changes[field] = next[field];
  for (const field of addressLists) {
    const addresses = next[field] ?? (field === 'hostIPs' ? before[field] : []) ?? [];
    if (!isSame(before[field], addresses)) changes[field] = [...addresses, { $patch: 'replace' }];
  }
  for (const field of resourceFields) {
    // A pod that asks for nothing has empty resources, as upstream's.
    const isShown = (before[field] === undefined) === (next[field] === undefined);
    if (!isShown || !isSame(before[field], next[field])) changes[field] = replacing(before[field], next[field]);
  }
  const conditions = [
    ...(next.conditions ?? []).flatMap((condition) => changedCondition(before, condition)),
    ...passedConditions(before, next),
  ];
  if (conditions.length > 0) changes['conditions'] = conditions;
  if (Object.keys(changes).length === 0) return null;
  const { uid, resourceVersion } = base.metadata;
  const holdsForThisOnly = 'phase' in changes && resourceVersion !== undefined;
  return { metadata: { uid, ...(holdsForThisOnly ? { resourceVersion } : {}) }, status: changes };
}

type Resources = Readonly<Record<string, unknown>>;

/** The server merges maps key by key: what is to go is null. */
function replacing(before: Resources | undefined, next: Resources | undefined): Resources | null {
  if (next === undefined) return null;
  const gone = Object.keys(before ?? {}).filter((key) => next[key] === undefined);
  const kept = Object.entries(next).map(([key, value]): [string, unknown] => {
    const isMap = typeof value === 'object' && value !== null && !Array.isArray(value);
    return [key, isMap ? replacing(before?.[key] as Resources | undefined, value as Resources) : value];
  });
  return Object.fromEntries([...kept, ...gone.map((key) => [key, null])]);
}

function passedConditions({ conditions = [] }: PodStatus, next: PodStatus): object[] {
  const hasPassed = (type: string) => transientConditionTypes.has(type) && !next.conditions?.some((condition) => condition.type === type);
  return conditions.filter(({ type }) => hasPassed(type)).map(({ type }) => ({ type, $patch: 'delete' }));
}

/** A transition time that differs alone is no news. */
function changedCondition({ conditions }: PodStatus, next: PodCondition): object[] {
  const before = conditions?.find(({ type }) => type === next.type);
  const same =
    before?.status === next.status &&
    (before.reason ?? '') === (next.reason ?? '') &&
    (before.message ?? '') === (next.message ?? '') &&
    (next.observedGeneration === undefined || before.observedGeneration === next.observedGeneration);
  if (same) return [];
  return [
    {
      ...next,
      ...(before?.reason && !next.reason ? { reason: null } : {}),
      ...(before?.message && !next.message ? { message: null } : {}),
    },
  ];
}

/** The server leaves out what is empty. */
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
