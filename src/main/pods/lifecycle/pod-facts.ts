/** Reads from a pod what its lifecycle depends on. Pure. */
import type { Pod } from '../../../shared/kubernetes/api.ts';
import { isDeleted } from '../../../shared/kubernetes/is-deleted.ts';
import { isTerminalPhase } from '../../../shared/kubernetes/pod-phase.ts';
import type { PodFacts } from './pod-lifecycle.ts';

export function podFacts(pod: Pod): PodFacts {
  return {
    deletionRequested: isDeleted(pod),
    deletionGracePeriodSeconds: pod.metadata.deletionGracePeriodSeconds ?? null,
    terminationGracePeriodSeconds: pod.spec.terminationGracePeriodSeconds ?? null,
    phaseTerminal: isTerminalPhase(pod.status?.phase),
  };
}
