/** Whether a container has ended, from what the pleg thread wrote to shared memory: hundreds of followers ask, and no call is made. */
import type { ContainerID } from '../../../shared/kubernetes/ids.ts';
import type { SnapshotItem } from '../../../shared/state/runtime-snapshot.ts';

/** The reader's part that is needed (RuntimeSnapshotReader). */
export interface ContainerList {
  readonly relistedAtMs: number;
  all(): Iterable<Pick<SnapshotItem, 'kind' | 'id' | 'state'>>;
}

/** Answers for one moment. A container that is not listed has ended only if a complete list began after `knownAtMs` (monotonic), when it was. */
export function createEndedCheck(list: ContainerList): (id: ContainerID, knownAtMs: number) => boolean {
  const { relistedAtMs } = list;
  const listed = new Set<string>();
  const ended = new Set<string>();
  for (const { kind, id, state } of list.all()) {
    if (kind !== 'container') continue;
    listed.add(id);
    if (state === 'exited' || state === 'unknown') ended.add(id);
  }
  return (id, knownAtMs) => ended.has(id) || (!listed.has(id) && relistedAtMs > knownAtMs);
}
