/** How long a container has to end by itself. Pure (upstream kuberuntime_container.go setTerminationGracePeriod). */
import type { RuntimeContainerStatus } from '../../../shared/contracts/runtime-status.ts';
import type { Container, Pod } from '../../../shared/kubernetes/api.ts';
import type { KillReason } from '../compute-pod-actions/index.ts';

/** Less is never given: a container that got no time at all could not even close its files (upstream minimumGracePeriodInSeconds). */
export const minimumGraceSeconds = 2;

/** 68 years: more than fits what runtimes count in nanoseconds would be no time at all. */
export const maximumGraceSeconds = 2 ** 31 - 1;

/**
 * In seconds; may be 0, for a pod that is deleted by force. A probe's own grace period counts only while the pod is not being
 * deleted. For a pod whose spec is not known any more, its container's annotations tell.
 */
export function terminationGraceSeconds(input: {
  readonly pod: Pod | null;
  readonly container: Pick<Container, 'startupProbe' | 'livenessProbe'>;
  readonly reason: KillReason;
  readonly orphan?: RuntimeContainerStatus['orphan'];
}): number {
  const { pod, container, reason, orphan } = input;
  const deletion = pod ? pod.metadata.deletionGracePeriodSeconds : orphan?.podDeletionGracePeriodSeconds;
  if (deletion !== undefined) return deletion;
  const ofPod = pod ? pod.spec.terminationGracePeriodSeconds : orphan?.podTerminationGracePeriodSeconds;
  if (ofPod === undefined) return minimumGraceSeconds;
  if (reason === 'StartupProbe') return container.startupProbe?.terminationGracePeriodSeconds ?? ofPod;
  if (reason === 'LivenessProbe') return container.livenessProbe?.terminationGracePeriodSeconds ?? ofPod;
  return ofPod;
}
