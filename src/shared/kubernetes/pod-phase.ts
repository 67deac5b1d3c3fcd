/** The phase of a pod in the API (upstream: core/v1 PodPhase). */

export type PodPhase = 'Pending' | 'Running' | 'Succeeded' | 'Failed';

/** No container of the pod starts again. */
export function isTerminalPhase(phase: string | undefined): phase is 'Succeeded' | 'Failed' {
  return phase === 'Succeeded' || phase === 'Failed';
}
