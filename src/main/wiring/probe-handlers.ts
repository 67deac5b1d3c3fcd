/** Creates the sync loop's handlers of probe results: statuses at once, and syncs of the pods whose containers restart or start. */
import type { ApiStatusCache } from '../pods/api-status/index.ts';
import type { PodWorkers } from '../pods/workers/index.ts';
import type { ProbeManager } from '../probes/index.ts';
import type { PodUpdate } from '../sources/index.ts';
import type { SyncLoopHandlers } from '../sync-loop.ts';

export interface ProbeHandlersOptions {
  readonly probes: Pick<ProbeManager, 'apply'>;
  readonly workers: Pick<PodWorkers, 'refreshStatuses' | 'wakeUrgently'>;
  readonly statuses: Pick<ApiStatusCache, 'expedite'>;
}

export function createProbeHandlers({
  probes,
  workers,
  statuses,
}: ProbeHandlersOptions): Pick<SyncLoopHandlers<PodUpdate>, 'applyProbeResults' | 'handleProbeSyncs'> {
  return {
    applyProbeResults: (results) => {
      const { changed, toSync } = probes.apply(results);
      workers.refreshStatuses(changed);
      for (const uid of changed) statuses.expedite(uid);
      return toSync;
    },
    handleProbeSyncs: (uids) => workers.wakeUrgently(uids),
  };
}
