/** The status that the pods API shows. Upstream: getEffectivePodStatus in pkg/kubelet/apis/pods/server.go. */
import type { PodStatus } from '../../shared/kubernetes/api.ts';
import { isReadyTrue } from '../../shared/kubernetes/ready-condition.ts';

/**
 * Returns the kubelet's status, or else the one of the pod's object. The latter is not verified yet: its pod is not shown as ready.
 */
export function effectiveStatus(own: PodStatus | undefined, reported: PodStatus | undefined): PodStatus {
  if (own) return own;
  const conditions = reported?.conditions?.map((condition) =>
    isReadyTrue(condition)
      ? { ...condition, status: 'False', reason: 'ContainersNotReady', message: 'Kubelet is initializing pod containers' }
      : condition,
  );
  return { ...reported, phase: reported?.phase || 'Pending', ...(conditions && { conditions }) };
}
