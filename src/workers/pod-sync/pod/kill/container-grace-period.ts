/** Computes the grace period of a container that is killed. Pure (upstream kuberuntime_container.go setTerminationGracePeriod). */
import type { RuntimeContainerStatus } from '../../../../shared/contracts/runtime-status.ts';
import type { Container, Pod } from '../../../../shared/kubernetes/api.ts';
import type { KillReason } from '../compute-pod-actions/index.ts';

/** The shortest grace period, in which a container can still close its files (upstream minimumGracePeriodInSeconds). */
export const minimumGraceSeconds = 2;

/** 68 years. Runtimes count int64 nanoseconds, in which a much longer time would overflow and the container would be killed at once. */
export const maximumGraceSeconds = 2 ** 31 - 1;

/**
 * Returns 0 for a pod that is force-deleted. The grace period of a probe counts only while the pod is not being deleted. When the pod's spec
 * is no longer known, the annotations of its container give the grace period.
 */
export function computeGracePeriodSeconds(input: {
  readonly pod: Pod | null;
  readonly container: Pick<Container, 'startupProbe' | 'livenessProbe'>;
  readonly reason: KillReason;
  readonly orphan?: RuntimeContainerStatus['orphan'];
}): number {
  const { pod, container, reason, orphan } = input;
  const deletionSeconds = pod ? pod.metadata.deletionGracePeriodSeconds : orphan?.podDeletionGracePeriodSeconds;
  if (deletionSeconds !== undefined) return deletionSeconds;
  const podSeconds = pod ? pod.spec.terminationGracePeriodSeconds : orphan?.podTerminationGracePeriodSeconds;
  if (podSeconds === undefined) return minimumGraceSeconds;
  if (reason === 'StartupProbe') return container.startupProbe?.terminationGracePeriodSeconds ?? podSeconds;
  if (reason === 'LivenessProbe') return container.livenessProbe?.terminationGracePeriodSeconds ?? podSeconds;
  return podSeconds;
}
