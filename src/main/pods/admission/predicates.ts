/**
 * Whether this node is one for the pod, and has room for it: the scheduler's own questions, asked again by the node, since a pod may be bound
 * without a scheduler, or with an old view of the node. Upstream: pkg/kubelet/lifecycle/predicate.go.
 */
import type { Pod } from '../../../shared/kubernetes/api.ts';
import { isStaticPod } from '../static/static-pod.ts';
import { hasFreeHostPorts } from './host-ports.ts';
import { allowsNode } from './node-affinity.ts';
import { isCriticalPod, podsToPreempt } from './preemption.ts';
import { shortages, type Shortage } from './resource-fit.ts';
import { toleratesNoExecute } from './taints.ts';
import type { AdmissionNode, AdmitHandler, Rejection, AdmitResult } from './admit-handler.ts';

export interface PredicateOptions {
  /** Null: nothing is known of it yet. */
  readonly node: () => AdmissionNode | null;
  /** Gate TaintTolerationComparisonOperators. */
  readonly tolerationComparisons: boolean;
}

const operatingSystem = 'linux';
const osLabel = 'kubernetes.io/os';

export function predicateAdmission({ node, tolerationComparisons }: PredicateOptions): AdmitHandler {
  return (pod, active) => {
    const known = node();
    if (!known) return { rejection: { reason: 'InvalidNodeInfo', message: 'Kubelet cannot get node info.' } };
    const hopeless = neverHere(pod, known);
    if (hopeless) return { rejection: hopeless };
    const lacking = shortages(pod, active, known.status?.allocatable ?? {});
    const misfits = misfitsOf(pod, active, known, tolerationComparisons);
    const isCritical = isCriticalPod(pod);
    if (lacking[0] && !isCritical) return { rejection: outOf(lacking[0]) };
    if (!misfits[0]) return isCritical ? makeRoom(pod, active, lacking) : null;
    const mayBeStaleNode = lacking.length === 0 && misfits.every(({ reason }) => reason === 'NodeAffinity');
    return { rejection: mayBeStaleNode ? { ...misfits[0], mayBeStaleNode } : misfits[0] };
  };
}

/** What no other pod's end would change. */
function neverHere({ metadata, spec }: Pod, { status }: AdmissionNode): Rejection | null {
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

/** Upstream's order, whose first is told. */
function misfitsOf(pod: Pod, active: readonly Pod[], node: AdmissionNode, tolerationComparisons: boolean): Rejection[] {
  const { nodeName } = pod.spec;
  return [
    ...failed(allowsNode(pod, node), 'NodeAffinity', "node(s) didn't match Pod's node affinity/selector"),
    ...failed(!nodeName || nodeName === node.metadata.name, 'NodeName', "node(s) didn't match the requested node name"),
    ...failed(hasFreeHostPorts(pod, active), 'NodePorts', "node(s) didn't have free ports for the requested pod ports"),
    ...failed(
      isStaticPod(pod) || toleratesNoExecute(pod, node.spec?.taints ?? [], tolerationComparisons),
      'TaintToleration',
      "node(s) had taints that the pod didn't tolerate",
    ),
  ];
}

function failed(fits: boolean, predicate: string, why: string): Rejection[] {
  return fits ? [] : [{ reason: predicate, message: `Predicate ${predicate} failed: ${why}` }];
}

function outOf({ resource, requested, used, capacity }: Shortage): Rejection {
  const message = `Node didn't have enough resource: ${resource}, requested: ${requested}, used: ${used}, capacity: ${capacity}`;
  return { reason: `OutOf${resource}`, message };
}

/** A critical pod is not refused for want of room: others give way. */
function makeRoom(pod: Pod, active: readonly Pod[], lacking: readonly Shortage[]): AdmitResult {
  if (lacking.length === 0) return null;
  const victims = podsToPreempt(pod, active, lacking);
  if (victims) return { preemption: { victims, resources: lacking.map(({ resource }) => resource) } };
  const needs = lacking
    .map(({ resource, requested, used, capacity }) => `(res: ${resource}, q: ${requested - (capacity - used)}), `)
    .join('');
  const why = `preemption: error finding a set of pods to preempt: no set of running pods found to reclaim resources: [${needs}]`;
  const message = `Unexpected error while attempting to recover from admission failure: ${why}`;
  return { rejection: { reason: 'UnexpectedAdmissionError', message } };
}
