/**
 * Decides whether a resized pod fits beside the others. Pure. Only resources are checked. Upstream calls all admit handlers, so that the resize of a
 * running pod waits for labels and taints that no longer concern the pod.
 */
import type { AllocatedPod } from '../../allocation/index.ts';
import { isCriticalPod } from '../../../shared/kubernetes/critical-pod.ts';
import type { Pod } from '../../../shared/kubernetes/api.ts';
import type { AdmissionNode, AdmitResult } from './admit-handler.ts';
import { preemptFor, toRejection } from './predicates.ts';
import { insufficientResources } from './resource-fit.ts';

export interface ResizeFitOptions {
  /** Null while the node is unknown. */
  readonly node: () => AdmissionNode | null;
  /** Gate InPlacePodVerticalScalingSchedulerPreemption: the scheduler ends other pods for a critical pod, not this kubelet. */
  readonly schedulerPreempts: boolean;
}

export function resizeFit({ node, schedulerPreempts }: ResizeFitOptions): (pod: Pod, others: readonly AllocatedPod[]) => AdmitResult {
  return (pod, others) => {
    const admissionNode = node();
    if (!admissionNode) return { rejection: { reason: 'InvalidNodeInfo', message: 'Kubelet cannot get node info.' } };
    const insufficient = insufficientResources(pod, others, admissionNode.status?.allocatable ?? {});
    if (!insufficient[0]) return null;
    return isCriticalPod(pod) && !schedulerPreempts ? preemptFor(pod, others, insufficient) : { rejection: toRejection(insufficient[0]) };
  };
}
