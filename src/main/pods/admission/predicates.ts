/**
 * Checks on the node whether the pod fits: the scheduler's predicates, because a pod may be bound without a scheduler or with a stale view of
 * the node. Upstream: pkg/kubelet/lifecycle/predicate.go.
 */
import type { AllocatedPod } from '../../allocation/index.ts';
import type { Pod } from '../../../shared/kubernetes/api.ts';
import { isStaticPod } from '../../../shared/kubernetes/static-pod.ts';
import { hasFreeHostPorts } from './host-ports.ts';
import { matchesNode } from './node-affinity.ts';
import { podsToPreempt } from './preemption.ts';
import { isCriticalPod } from '../../../shared/kubernetes/critical-pod.ts';
import { insufficientResources, type InsufficientResource } from './resource-fit.ts';
import { toleratesNoExecute } from './taints.ts';
import type { AdmissionNode, AdmitHandler, Rejection, AdmitResult } from './admit-handler.ts';

export interface PredicateOptions {
  /** Null while the node is unknown. */
  readonly node: () => AdmissionNode | null;
  /** Gate TaintTolerationComparisonOperators. */
  readonly tolerationComparisons: boolean;
}

const operatingSystem = 'linux';
const osLabel = 'kubernetes.io/os';

export function predicateAdmission({ node, tolerationComparisons }: PredicateOptions): AdmitHandler {
  return (pod, active, stopping = []) => {
    const admissionNode = node();
    if (!admissionNode) return { rejection: { reason: 'InvalidNodeInfo', message: 'Kubelet cannot get node info.' } };
    const unsupported = unsupportedOnNode(pod, admissionNode);
    if (unsupported) return { rejection: unsupported };
    const insufficient = insufficientResources(pod, active, admissionNode.status?.allocatable ?? {});
    const failures = predicateFailures(pod, [...active, ...stopping], admissionNode, tolerationComparisons);
    const isCritical = isCriticalPod(pod);
    if (insufficient[0] && !isCritical) return { rejection: toRejection(insufficient[0]) };
    if (!failures[0]) return isCritical ? preemptFor(pod, active, insufficient) : null;
    // Only node affinity depends on the node's labels. The kubelet's copy of them may be stale.
    const mayBeStaleNode = insufficient.length === 0 && failures.every(({ reason }) => reason === 'NodeAffinity');
    return { rejection: mayBeStaleNode ? { ...failures[0], mayBeStaleNode } : failures[0] };
  };
}

/** Checks what the node never supports: another operating system, and supplementalGroupsPolicy Strict if the runtime lacks it. */
function unsupportedOnNode({ metadata, spec }: Pod, { status }: AdmissionNode): Rejection | null {
  const label = metadata.labels?.[osLabel];
  if (label !== undefined && label !== operatingSystem) {
    const message = "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label";
    return { reason: 'PodOSSelectorNodeLabelDoesNotMatch', message };
  }
  if (spec.os && spec.os.name !== operatingSystem) {
    return { reason: 'PodOSNotSupported', message: "Failed to admit pod as the OS field doesn't match node OS" };
  }
  if (spec.securityContext?.supplementalGroupsPolicy === 'Strict' && !status?.features?.supplementalGroupsPolicy) {
    return { reason: 'SupplementalGroupsPolicyNotSupported', message: 'SupplementalGroupsPolicy=Strict is not supported in this node' };
  }
  return null;
}

/** In upstream's order: the first failure is reported. */
function predicateFailures(pod: Pod, others: readonly Pod[], node: AdmissionNode, tolerationComparisons: boolean): Rejection[] {
  const { nodeName } = pod.spec;
  return [
    ...failureUnless(matchesNode(pod, node), 'NodeAffinity', "node(s) didn't match Pod's node affinity/selector"),
    ...failureUnless(!nodeName || nodeName === node.metadata.name, 'NodeName', "node(s) didn't match the requested node name"),
    ...failureUnless(hasFreeHostPorts(pod, others), 'NodePorts', "node(s) didn't have free ports for the requested pod ports"),
    ...failureUnless(
      isStaticPod(pod) || toleratesNoExecute(pod, node.spec?.taints ?? [], tolerationComparisons),
      'TaintToleration',
      "node(s) had taints that the pod didn't tolerate",
    ),
  ];
}

function failureUnless(fits: boolean, predicate: string, message: string): Rejection[] {
  return fits ? [] : [{ reason: predicate, message: `Predicate ${predicate} failed: ${message}` }];
}

export function toRejection({ resource, requested, used, capacity }: InsufficientResource): Rejection {
  const message = `Node didn't have enough resource: ${resource}, requested: ${requested}, used: ${used}, capacity: ${capacity}`;
  return { reason: `OutOf${resource}`, message };
}

/** Preempts other pods when the node has insufficient resources for a critical pod. */
export function preemptFor(pod: Pod, active: readonly AllocatedPod[], insufficient: readonly InsufficientResource[]): AdmitResult {
  if (insufficient.length === 0) return null;
  const choice = podsToPreempt(pod, active, insufficient);
  if ('victims' in choice) return { preemption: { victims: choice.victims, resources: insufficient.map(({ resource }) => resource) } };
  const requirements = choice.unmet.map(({ resource, amount }) => `(res: ${resource}, q: ${amount}), `).join('');
  const cause = `preemption: error finding a set of pods to preempt: no set of running pods found to reclaim resources: [${requirements}]`;
  const message = `Unexpected error while attempting to recover from admission failure: ${cause}`;
  return { rejection: { reason: 'UnexpectedAdmissionError', message } };
}
