/** The kind of a pod's next sync, computed from the pod and its runtime status. Pure. */
import type { RuntimePodStatus } from '../../../shared/contracts/runtime-status.ts';
import type { Pod } from '../../../shared/kubernetes/api.ts';
import { areAllContainersRunning } from '../pod-running.ts';

/**
 *  - `new`: the runtime has nothing of the pod yet.
 *  - `urgent`: something else is missing.
 *  - `resync`: nothing is missing, as far as is known.
 */
export type SyncKind = 'urgent' | 'new' | 'resync';

export function syncKind(pod: Pod, status: RuntimePodStatus | null): SyncKind {
  if (areAllContainersRunning(pod, status)) return 'resync';
  return status && status.sandboxes.length + status.containers.length > 0 ? 'urgent' : 'new';
}
