/** Checks whether containers have ended, from the snapshot that the pleg thread writes to shared memory. The check makes no calls. */
import type { ContainerID } from '../../../shared/kubernetes/ids.ts';
import type { SnapshotItem } from '../../../shared/state/runtime-snapshot.ts';

/** The part of RuntimeSnapshotReader that is used. */
export interface ContainerList {
  readonly relistedAtMs: number;
  all(): Iterable<Pick<SnapshotItem, 'kind' | 'id' | 'state'>>;
}

/**
 * Returns a check against the current snapshot. A container that is not listed has ended only if a complete relist started after
 * `knownAtMs` (monotonic), when the container existed.
 */
export function createEndedCheck(list: ContainerList): (id: ContainerID, knownAtMs: number) => boolean {
  const { relistedAtMs } = list;
  const listed = new Set<string>();
  const endedIDs = new Set<string>();
  for (const { kind, id, state } of list.all()) {
    if (kind !== 'container') continue;
    listed.add(id);
    if (state === 'exited' || state === 'unknown') endedIDs.add(id);
  }
  return (id, knownAtMs) => endedIDs.has(id) || (!listed.has(id) && relistedAtMs > knownAtMs);
}
