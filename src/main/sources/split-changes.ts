/** Parts the changes of a source, so that a burst of updates delays the start and the end of another pod only by a few of them. Pure. */
import type { PodUID } from '../../shared/kubernetes/ids.ts';
import { isPod, type PodChange, type PodsByUID, type SourceChanges } from './merge-pods.ts';

/** An update with a resize takes main about 2 ms. */
const maxUpdates = 10;

/** `now`: all pods that start or end, and the first updates of other pods. `later`: the rest, in its order. */
export function splitChanges(
  changes: SourceChanges,
  knownPods: PodsByUID,
): { readonly now: SourceChanges; readonly later: Map<PodUID, PodChange> } {
  const later = new Map<PodUID, PodChange>();
  if (changes.size <= maxUpdates) return { now: changes, later };
  const now = new Map<PodUID, PodChange>();
  let updates = 0;
  for (const [uid, change] of changes) {
    const isUpdate = isPod(change) && knownPods.has(uid) && change.metadata.deletionTimestamp === undefined;
    if (isUpdate) updates += 1;
    (isUpdate && updates > maxUpdates ? later : now).set(uid, change);
  }
  return { now, later };
}
