/**
 * What must hold for every history of a modelled node, where the test knows every cause: it records what it did to a pod, and the runtime records
 * attempts and exit codes. Each function returns one line per violation. Pure.
 */
import type { PodHistoryEntry } from './pod-history.ts';

type RuntimeEntry = Extract<PodHistoryEntry, { source: 'runtime' }>;

export const modelledInvariants: Readonly<Record<string, (history: readonly PodHistoryEntry[]) => readonly string[]>> = {
  'no running container is stopped without a cause': findCauselessStops,
  'attempts of a container only increase': findRepeatedAttempts,
  'an ephemeral container starts once': findEphemeralRestarts,
  'a crashing container waits': findRapidRestarts,
  'a static pod starts when its predecessor has ended': findStaticTwins,
  'a ready container stays ready across kubelets': findFlaps,
  'a phase fits the exit codes': findWrongPhases,
};

/** A regular container alone is checked: a sidecar also ends with its pod. */
function findCauselessStops(history: readonly PodHistoryEntry[]): string[] {
  /** Pods whose containers may be stopped, and single containers. */
  const excused = new Set<string>();
  /** By container: the restarts that its resize policy allows. */
  const restarts = new Map<string, number>();
  const violations: string[] = [];
  for (const entry of history) {
    if (entry.source === 'kubelet') continue;
    if (entry.source === 'test') {
      if (entry.type === 'resizeAsked') continue;
      const key = `${entry.podUID}/${entry.container}`;
      if (entry.type === 'resized') restarts.set(key, (restarts.get(key) ?? 0) + 1);
      else if (entry.type === 'imageChanged') excused.add(`${entry.podUID}/${entry.container}`);
      else if (entry.type === 'probeFailed') excused.add(entry.containerID!);
      else if (entry.type !== 'probeUnready') excused.add(entry.podUID);
    } else if (entry.source === 'api') {
      if (entry.type === 'deleted' || entry.type === 'finished') excused.add(entry.podUID);
    } else if (entry.type === 'stopRequested' && /^(?:app|other|third)$/.test(entry.container)) {
      const { podUID, container, containerID } = entry;
      if (podUID.startsWith('static')) continue;
      const key = `${podUID}/${container}`;
      if ([podUID, key, containerID].some((one) => excused.has(one))) continue;
      const left = restarts.get(key) ?? 0;
      restarts.set(key, left - 1);
      // The stop may be requested again.
      excused.add(containerID);
      if (left === 0) violations.push(`${podUID}/${container} was stopped`);
    }
  }
  return violations;
}

function findRepeatedAttempts(history: readonly PodHistoryEntry[]): string[] {
  // When the newest instance is lost, the one before decides.
  const lost = new Set(disturbed(history, 'containerLost'));
  const attempts = new Map<string, number>();
  return starts(history).flatMap(({ podUID, container, attempt = 0 }) => {
    const key = `${podUID}/${container}`;
    const before = attempts.get(key) ?? -1;
    attempts.set(key, attempt);
    return attempt > before || lost.has(podUID) ? [] : [`${key} has attempt ${attempt} after ${before}`];
  });
}

function findEphemeralRestarts(history: readonly PodHistoryEntry[]): string[] {
  const lost = new Set(disturbed(history, 'containerLost', 'sandboxLost'));
  const started = new Set<string>();
  return starts(history).flatMap(({ podUID, container }) => {
    if (container !== 'debug' || lost.has(podUID)) return [];
    const isRepeated = started.has(podUID);
    started.add(podUID);
    return isRepeated ? [`${podUID}/${container} started again`] : [];
  });
}

/**
 * The first restart is immediate, the second waits for 10 s. A sync that kills a container for its probe also starts the next instance: only the
 * restart after that one waits, as upstream.
 */
function findRapidRestarts(history: readonly PodHistoryEntry[]): string[] {
  const excused = new Set(disturbed(history, 'containerLost', 'imageChanged', 'probeFailed', 'resizeAsked'));
  const times = new Map<string, readonly number[]>();
  return starts(history).flatMap(({ podUID, container, atMs }) => {
    const key = `${podUID}/${container}`;
    const recent = [...(times.get(key) ?? []), atMs].slice(-3);
    times.set(key, recent);
    const isRapid = recent.length === 3 && atMs - recent[0]! < 9000 && !excused.has(podUID);
    return isRapid ? [`${key} started three times in ${Math.round(atMs - recent[0]!)} ms`] : [];
  });
}

/** A pod whose manifest was replaced before this kubelet was launched is an orphan, whose name this kubelet does not wait for, as upstream. */
function findStaticTwins(history: readonly PodHistoryEntry[]): string[] {
  const live = new Map<string, Map<string, string>>();
  const violations: string[] = [];
  for (const entry of history) {
    if (entry.source === 'kubelet') live.clear();
    if (entry.source !== 'runtime' || !entry.podName?.startsWith('static')) continue;
    const running = live.get(entry.podName) ?? new Map<string, string>();
    live.set(entry.podName, running);
    if (entry.type === 'ended' || entry.type === 'removed') running.delete(entry.containerID);
    if (entry.type !== 'started') continue;
    const other = [...running.values()].find((podUID) => podUID !== entry.podUID);
    if (other !== undefined) violations.push(`${entry.podUID}/${entry.container} started while ${other} ran`);
    running.set(entry.containerID, entry.podUID);
  }
  return violations;
}

/** A container that runs on becomes unready only by a probe, or with its pod. */
function findFlaps(history: readonly PodHistoryEntry[]): string[] {
  const ready = new Map<string, string>();
  const excused = new Set<string>();
  const violations: string[] = [];
  for (const entry of history) {
    if (entry.source === 'kubelet' || (entry.source === 'test' && entry.type === 'resizeAsked')) continue;
    if (entry.source === 'runtime') {
      if (entry.type === 'stopRequested' || entry.type === 'ended') excused.add(entry.containerID);
    } else if (entry.source === 'test') excused.add(entry.containerID ?? entry.podUID);
    else if (entry.type !== 'status') excused.add(entry.podUID);
    else {
      for (const { name, ready: isReady, containerID, state } of entry.status.containerStatuses ?? []) {
        const key = `${entry.podUID}/${name}`;
        const id = containerID?.replace(/^.*:\/\//, '') ?? '';
        const wasReady = ready.get(key) === id;
        if (wasReady && !isReady && state?.running && !excused.has(id) && !excused.has(entry.podUID))
          violations.push(`${key} became unready`);
        if (isReady) ready.set(key, id);
        else ready.delete(key);
      }
    }
  }
  return violations;
}

function findWrongPhases(history: readonly PodHistoryEntry[]): string[] {
  return history.flatMap((entry) => {
    if (entry.source !== 'api' || entry.type !== 'status' || entry.status.phase !== 'Succeeded') return [];
    const failed = entry.status.containerStatuses?.find(({ state }) => state?.terminated?.exitCode !== 0);
    return failed ? [`${entry.podUID} has succeeded, and its container ${failed.name} has not`] : [];
  });
}

function starts(history: readonly PodHistoryEntry[]): readonly RuntimeEntry[] {
  return history.filter((entry): entry is RuntimeEntry => entry.source === 'runtime' && entry.type === 'started');
}

function disturbed(history: readonly PodHistoryEntry[], ...types: readonly string[]): readonly string[] {
  return history.flatMap((entry) => (entry.source === 'test' && types.includes(entry.type) ? [entry.podUID] : []));
}
