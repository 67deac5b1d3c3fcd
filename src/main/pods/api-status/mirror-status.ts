/** What a static pod continues of its mirror pod's status. Pure. */
import type { PodStatus } from '../../../shared/kubernetes/api.ts';
import { isTerminalPhase } from '../../../shared/kubernetes/pod-phase.ts';

/**
 * Nothing that is read from a mirror pod may decide whether containers run: anybody with the right may write it, and after a shutdown of the node it says how the pod
 * ended. A pod whose manifest is there runs again then, and its start is a new one.
 */
export function continuedStatus(mirrorStatus: PodStatus | undefined): PodStatus | undefined {
  return isTerminalPhase(mirrorStatus?.phase) ? undefined : mirrorStatus;
}
