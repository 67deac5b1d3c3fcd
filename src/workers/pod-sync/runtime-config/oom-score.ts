/**
 * oom_score_adj: who dies first when the node is out of memory (upstream pkg/kubelet/qos/policy.go). 1000 is first. A burstable
 * container that uses more than it asked for reaches 1000 whatever it asked for.
 */
import type { Container, EphemeralContainer, Pod } from '../../../shared/kubernetes/api.ts';
import { configMirrorAnnotation, configSourceAnnotation } from '../../../shared/kubernetes/annotations.ts';
import { isPodLevelResource, podRequests } from '../../../shared/kubernetes/pod-resources.ts';
import { qosClass } from '../../../shared/kubernetes/qos-class.ts';
import { value } from '../../../shared/kubernetes/quantity.ts';
import { isRestartableInitContainer } from '../../../shared/kubernetes/restart-policy.ts';

const guaranteed = -997;
const bestEffort = 1000;
/** A guaranteed pod that uses all memory scores 10: burstable ones stay above it. */
const leastBurstable = 1000 + guaranteed;
const systemCriticalPriority = 2_000_000_000;

/** Static and mirror pods, and those of a system priority (upstream types.IsCriticalPod). */
export function isCriticalPod({ metadata: { annotations = {} }, spec }: Pod): boolean {
  const source = annotations[configSourceAnnotation];
  return (
    (source !== undefined && source !== 'api') || configMirrorAnnotation in annotations || (spec.priority ?? 0) >= systemCriticalPriority
  );
}

export function oomScoreAdj(
  pod: Pod,
  container: Container | EphemeralContainer,
  memoryCapacityBytes: number,
  podLevelResources: boolean,
): number {
  if (isCriticalPod(pod) && pod.spec.priorityClassName === 'system-node-critical') return guaranteed;
  const qos = qosClass(pod);
  if (qos === 'Guaranteed') return guaranteed;
  // A node without a known size can't weigh what was asked for.
  if (qos === 'BestEffort' || memoryCapacityBytes <= 0) return qos === 'BestEffort' ? bestEffort : bestEffort - 1;
  const share = podLevelResources ? unclaimedShare(pod) : 0;
  const scoreOf = (requestBytes: number) => 1000 - Math.trunc((1000 * (requestBytes + share)) / memoryCapacityBytes);
  const own = scoreOf(memoryRequest(container));
  // A sidecar never dies before the containers that it serves.
  const score = isSidecarOf(pod, container) ? Math.min(own, scoreOf(Math.min(...pod.spec.containers.map(memoryRequest)))) : own;
  return Math.min(Math.max(score, leastBurstable), bestEffort - 1);
}

function memoryRequest({ resources }: Pick<Container, 'resources'>): number {
  return value(resources?.requests?.['memory']);
}

function isSidecarOf({ spec }: Pod, container: Container | EphemeralContainer): boolean {
  return isRestartableInitContainer(container) && (spec.initContainers ?? []).some(({ name }) => name === container.name);
}

/** What the pod as a whole asks for beyond its containers, in equal parts. */
function unclaimedShare(pod: Pod): number {
  const { resources, containers, initContainers = [] } = pod.spec;
  const asked = resources?.requests ?? {};
  const total = value(asked['memory']);
  if (total === 0 || !Object.keys(asked).some(isPodLevelResource)) return 0;
  const claimed = value(podRequests(pod, { skipPodLevel: true })['memory']);
  return Math.trunc((total - claimed) / (containers.length + initContainers.length));
}
