/**
 * What must hold for every history of pods, whatever the cluster, the containers and the runtime do. Each function returns one line per
 * violation. Pure.
 */
import type { ContainerStatus, PodStatus } from '../../../src/shared/kubernetes/api.ts';
import type { PodHistoryEntry } from './pod-history.ts';

type Invariant = (history: readonly PodHistoryEntry[]) => readonly string[];

/** What the kubelet requested in this time after a deletion, it may have requested without knowing of it. */
const noticeMs = 1000;

/** Upstream: minimumGracePeriodInSeconds. A container gets at least this time when its preStop hook has used up the rest. */
const minimumGraceSeconds = 2;

export const invariants: Readonly<Record<string, Invariant>> = {
  'never two live containers with one name in one pod': findTwins,
  'no start after termination began': findLateStarts,
  'restart counts never decrease': findFallingRestartCounts,
  'a terminal status never reverts': findRevertedPhases,
  'grace periods never grow': findGrowingGracePeriods,
};

/** Returns all violations, each with the name of its invariant. */
export function findViolations(history: readonly PodHistoryEntry[]): readonly string[] {
  return Object.entries(invariants).flatMap(([name, find]) => find(history).map((violation) => `${name}: ${violation}`));
}

function findTwins(history: readonly PodHistoryEntry[]): string[] {
  const live = new Map<string, string>();
  const violations: string[] = [];
  for (const entry of history) {
    if (entry.source !== 'runtime') continue;
    const key = `${entry.podUID}/${entry.container}`;
    if (entry.type === 'started') {
      const other = live.get(key);
      if (other !== undefined) violations.push(`${key} started as ${short(entry.containerID)} while ${short(other)} was alive`);
      live.set(key, entry.containerID);
    } else if ((entry.type === 'ended' || entry.type === 'removed') && live.get(key) === entry.containerID) live.delete(key);
  }
  return violations;
}

interface Termination {
  readonly deletedAtMs: number;
  /** A kubelet was launched, or has stopped a container, after the deletion: it knows of it. */
  readonly isKnown: boolean;
  readonly isTerminal: boolean;
}

function findLateStarts(history: readonly PodHistoryEntry[]): string[] {
  const pods = new Map<string, Termination>();
  /** Containers and pods that are stopped for another reason. */
  const disturbed = new Set<string>();
  const violations: string[] = [];
  for (const entry of history) {
    if (entry.source === 'kubelet') {
      for (const [uid, pod] of pods) pods.set(uid, { ...pod, isKnown: true });
      continue;
    }
    if (entry.source === 'test') {
      const { type, podUID, container, containerID } = entry;
      if (type === 'probeUnready' || type === 'containerLost' || type === 'resizeAsked') continue;
      disturbed.add(containerID ?? (container === undefined ? podUID : `${podUID}/${container}`));
      continue;
    }
    const { podUID: uid, atMs } = entry;
    const pod = pods.get(uid) ?? { deletedAtMs: Infinity, isKnown: false, isTerminal: false };
    switch (entry.type) {
      case 'deleted':
        pods.set(uid, { ...pod, deletedAtMs: Math.min(pod.deletedAtMs, atMs) });
        break;
      case 'finished':
        pods.set(uid, { ...pod, isTerminal: true });
        break;
      case 'status':
        if (isTerminal(entry.status)) pods.set(uid, { ...pod, isTerminal: true });
        break;
      case 'stopRequested':
        if ([uid, `${uid}/${entry.container}`, entry.containerID].some((key) => disturbed.has(key))) break;
        if (atMs > pod.deletedAtMs + noticeMs) pods.set(uid, { ...pod, isKnown: true });
        break;
      case 'startRequested': {
        const isDeleted = pod.isKnown && atMs > pod.deletedAtMs + noticeMs;
        if (pod.isTerminal) violations.push(`${uid}/${entry.container} was started after the pod had ended`);
        else if (isDeleted)
          violations.push(`${uid}/${entry.container} was started ${Math.round(atMs - pod.deletedAtMs)} ms after the deletion`);
        break;
      }
      case 'started':
      case 'ended':
      case 'removed':
        break;
    }
  }
  return violations;
}

function findFallingRestartCounts(history: readonly PodHistoryEntry[]): string[] {
  return compareStatuses(history, (before, after, uid) => {
    const counts = new Map(containersOf(before).map(({ name, restartCount }) => [name, restartCount]));
    return containersOf(after).flatMap(({ name, restartCount }) => {
      const previous = counts.get(name) ?? 0;
      return restartCount < previous ? [`${uid}/${name} has ${restartCount} restarts after ${previous}`] : [];
    });
  });
}

function findRevertedPhases(history: readonly PodHistoryEntry[]): string[] {
  return compareStatuses(history, (before, after, uid) =>
    isTerminal(before) && before.phase !== after.phase ? [`${uid} is ${after.phase} after ${before.phase}`] : [],
  );
}

/**
 * A kubelet that starts in the middle of a termination gives the containers the whole grace period once more, as upstream. A pod that was deleted by force
 * has no object any more: it gets the grace period of its spec, unless the kubelet that runs since before has seen an
 * earlier deletion.
 */
function findGrowingGracePeriods(history: readonly PodHistoryEntry[]): string[] {
  const deletions = new Map<string, { readonly atMs: number; readonly graceSeconds: number }[]>();
  const withoutObject = new Set<string>();
  let launchedAtMs = -Infinity;
  const last = new Map<string, number>();
  const ended = new Set<string>();
  const violations: string[] = [];
  for (const entry of history) {
    if (entry.source === 'kubelet') {
      last.clear();
      launchedAtMs = entry.atMs;
      for (const uid of withoutObject) deletions.delete(uid);
    } else if (entry.source === 'test') continue;
    else if (entry.type === 'deleted') {
      const earlier = deletions.get(entry.podUID) ?? [];
      if (entry.graceSeconds > 0) deletions.set(entry.podUID, [...earlier, entry]);
      else {
        withoutObject.add(entry.podUID);
        // A watch may show the removal only.
        const seen = earlier.filter(({ atMs }) => atMs > launchedAtMs && atMs + noticeMs < entry.atMs);
        deletions.set(entry.podUID, seen);
      }
    } else if (entry.type === 'ended') ended.add(entry.containerID);
    else if (entry.type === 'stopRequested') {
      const { graceSeconds = 0, container, containerID } = entry;
      // A kubelet whose inspection failed does not know it: the request has no effect.
      if (ended.has(containerID)) continue;
      const known = deletions.get(entry.podUID)?.filter(({ atMs }) => atMs + noticeMs < entry.atMs) ?? [];
      if (known.length === 0) continue;
      const allowed = Math.max(minimumGraceSeconds, Math.min(...known.map((deletion) => deletion.graceSeconds)));
      const limit = Math.min(allowed, last.get(containerID) ?? Infinity);
      if (graceSeconds > limit) violations.push(`${entry.podUID}/${container} gets ${graceSeconds} s after ${limit} s`);
      last.set(containerID, Math.max(minimumGraceSeconds, graceSeconds));
    }
  }
  return violations;
}

/** Compares each written status of a pod with the one before it. */
function compareStatuses(
  history: readonly PodHistoryEntry[],
  compare: (before: PodStatus, after: PodStatus, uid: string) => readonly string[],
): string[] {
  const statuses = new Map<string, PodStatus>();
  const violations: string[] = [];
  for (const entry of history) {
    if (entry.source !== 'api' || entry.type !== 'status') continue;
    const before = statuses.get(entry.podUID);
    if (before) violations.push(...compare(before, entry.status, entry.podUID));
    statuses.set(entry.podUID, entry.status);
  }
  return violations;
}

function containersOf(status: PodStatus): readonly ContainerStatus[] {
  return [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
}

function isTerminal({ phase }: PodStatus): boolean {
  return phase === 'Succeeded' || phase === 'Failed';
}

function short(id: string): string {
  return id.slice(0, 12);
}
