/**
 * Selects the dead containers and sandboxes to remove (upstream kuberuntime_gc.go). Pure: it decides on the pleg thread's last snapshot.
 * All containers of a deleted pod are removed. Existing pods keep their newest dead containers, which hold their logs and last states.
 */
import type { ContainerGcRequest } from '../../../shared/contracts/images.ts';
import type { PodUID } from '../../../shared/kubernetes/ids.ts';
import type { SnapshotItem } from '../../../shared/state/runtime-snapshot.ts';

/** Returns whether all resources of a pod may be removed. No pod counts as deleted until every source has reported. */
function podRemovable({ allSourcesReady, knownPodUIDs, removablePodUIDs }: ContainerGcRequest): (podUID: PodUID) => boolean {
  const knownUIDs = new Set(knownPodUIDs);
  const removable = new Set(removablePodUIDs);
  return (podUID) => allSourcesReady && (removable.has(podUID) || !knownUIDs.has(podUID));
}

/** Returns whether all containers and sandboxes of a pod may be removed. */
function podRuntimeRemovable(request: ContainerGcRequest): (podUID: PodUID) => boolean {
  const isRemovable = podRemovable(request);
  const terminated = new Set(request.allSourcesReady ? request.terminatedPodUIDs : []);
  return (podUID) => terminated.has(podUID) || isRemovable(podUID);
}

/**
 * Returns whether the logs of a pod may be removed: the pod is removable and has no newer containers in the current snapshot. Removals
 * take time, and a static pod may restart with the same UID meanwhile.
 */
export function podLogsRemovable(items: Iterable<SnapshotItem>, request: ContainerGcRequest): (podUID: PodUID) => boolean {
  const isRemovable = podRemovable(request);
  const restarted = new Set<PodUID>();
  for (const { podUID, state, createdAtMs } of items)
    if (state === 'running' || createdAtMs >= request.requestedAtMs) restarted.add(podUID);
  return (podUID) => isRemovable(podUID) && !restarted.has(podUID);
}

/** Returns the dead containers to remove, oldest first. */
export function containersToRemove(items: readonly SnapshotItem[], request: ContainerGcRequest, nowMs: number): SnapshotItem[] {
  const isRemovable = podRuntimeRemovable(request);
  const deadItems = items.filter(
    ({ kind, state, createdAtMs }) =>
      kind === 'container' && state !== 'running' && nowMs - createdAtMs >= request.minAgeMs && createdAtMs < request.requestedAtMs,
  );
  const keptItems = Map.groupBy(
    deadItems.filter(({ podUID }) => !isRemovable(podUID)),
    ({ podUID, containerName }) => `${podUID}/${containerName}`,
  );
  const removedItems = deadItems.filter(({ podUID }) => isRemovable(podUID));
  const keepNewest = (count: number) => {
    for (const [key, group] of keptItems) {
      const newestFirst = group.sort(byAttempt);
      removedItems.push(...newestFirst.slice(count));
      keptItems.set(key, newestFirst.slice(0, count));
    }
  };
  if (request.maxPerPodContainer >= 0) keepNewest(request.maxPerPodContainer);
  if (request.maxContainers >= 0 && total(keptItems) > request.maxContainers) {
    keepNewest(Math.max(1, Math.floor(request.maxContainers / keptItems.size)));
    const newestFirst = [...keptItems.values()].flat().sort(byAge);
    removedItems.push(...newestFirst.slice(request.maxContainers));
  }
  return removedItems.sort((a, b) => a.createdAtMs - b.createdAtMs);
}

/** Newest first, for the instances of one container or the sandboxes of one pod. The clock may have been set back between two of them. */
function byAttempt(a: SnapshotItem, b: SnapshotItem): number {
  return b.attempt - a.attempt || byAge(a, b);
}

function byAge(a: SnapshotItem, b: SnapshotItem): number {
  return b.createdAtMs - a.createdAtMs;
}

function total(groups: ReadonlyMap<string, readonly SnapshotItem[]>): number {
  let count = 0;
  for (const group of groups.values()) count += group.length;
  return count;
}

/** Returns the dead sandboxes without containers to remove, oldest first. Deleted pods keep none; existing pods keep their newest. */
export function sandboxesToRemove(
  items: readonly SnapshotItem[],
  removedContainers: ReadonlySet<string>,
  request: ContainerGcRequest,
): SnapshotItem[] {
  const isRemovable = podRuntimeRemovable(request);
  const occupied = new Set(
    items.filter(({ kind, id }) => kind === 'container' && !removedContainers.has(id)).map(({ sandboxID }) => sandboxID),
  );
  const byPod = Map.groupBy(
    items.filter(({ kind }) => kind === 'sandbox'),
    ({ podUID }) => podUID,
  );
  const candidates = [...byPod].flatMap(([podUID, sandboxes]) => sandboxes.sort(byAttempt).slice(isRemovable(podUID) ? 0 : 1));
  return candidates
    .filter(({ state, sandboxID, createdAtMs }) => state !== 'running' && !occupied.has(sandboxID) && createdAtMs < request.requestedAtMs)
    .sort((a, b) => a.createdAtMs - b.createdAtMs);
}
