/** How a pod's next sync stands in line: pure. */
import type { RuntimePodStatus } from '../../../shared/contracts/runtime-status.ts';
import type { Pod } from '../../../shared/kubernetes/api.ts';
import { areAllContainersRunning } from '../pod-running.ts';
import type { SyncKind } from './sync-slots.ts';

export function syncKind(pod: Pod, status: RuntimePodStatus | null): SyncKind {
  if (areAllContainersRunning(pod, status)) return 'other';
  return status && status.sandboxes.length + status.containers.length > 0 ? 'urgent' : 'begin';
}
