/** How a pod's next sync stands in line: pure. */
import type { RuntimePodStatus } from '../../../shared/contracts/runtime-status.ts';
import type { Pod } from '../../../shared/kubernetes/api.ts';
import { runsWholly } from '../pod-running.ts';
import type { TurnKind } from './sync-scheduler.ts';

export function turnKind(pod: Pod, status: RuntimePodStatus | null): TurnKind {
  if (runsWholly(pod, status)) return 'other';
  return status && status.sandboxes.length + status.containers.length > 0 ? 'urgent' : 'begin';
}
