/** Decides which status a static pod takes over from its mirror pod. Pure. */
import type { PodStatus } from '../../../shared/kubernetes/api.ts';
import { isTerminalPhase } from '../../../shared/kubernetes/pod-phase.ts';

/**
 * Returns undefined for a terminal phase. A mirror pod must not decide whether containers run: every client with the permission may write its status, and
 * after a shutdown of the node the status says how the pod ended. A static pod whose manifest exists then runs again, and this is a new start.
 */
export function continuedStatus(mirrorStatus: PodStatus | undefined): PodStatus | undefined {
  return isTerminalPhase(mirrorStatus?.phase) ? undefined : mirrorStatus;
}
