/**
 * Computes oom_score_adj, the order in which the kernel kills when memory is exhausted (upstream pkg/kubelet/qos/policy.go). 1000 is killed
 * first. A Burstable container that uses more than its request reaches a score of 1000, whatever the request is.
 */
import type { Container, EphemeralContainer, Pod } from '../../../../shared/kubernetes/api.ts';
import { isNodeCriticalPod } from '../../../../shared/kubernetes/critical-pod.ts';
import { isPodLevelResource, podRequests } from '../../../../shared/kubernetes/pod-resources.ts';
import { qosClass } from '../../../../shared/kubernetes/qos-class.ts';
import { value } from '../../../../shared/kubernetes/quantity.ts';
import { isRestartableInitContainer } from '../../../../shared/kubernetes/restart-policy.ts';

const guaranteed = -997;
const bestEffort = 1000;
/** A Guaranteed container that uses all memory has a score of 1000 + guaranteed = 3: each Burstable container has at least that adjustment. */
const leastBurstable = 1000 + guaranteed;

export function computeOOMScoreAdj(
  pod: Pod,
  container: Container | EphemeralContainer,
  memoryCapacityBytes: number,
  podLevelResources: boolean,
): number {
  if (isNodeCriticalPod(pod)) return guaranteed;
  const qos = qosClass(pod);
  if (qos === 'Guaranteed') return guaranteed;
  // Without the node's memory capacity, requests cannot be weighed.
  if (qos === 'BestEffort' || memoryCapacityBytes <= 0) return qos === 'BestEffort' ? bestEffort : bestEffort - 1;
  const share = podLevelResources ? podLevelShareBytes(pod) : 0;
  const scoreOf = (requestBytes: number) => 1000 - Math.trunc((1000 * (requestBytes + share)) / memoryCapacityBytes);
  const containerScore = scoreOf(memoryRequest(container));
  // A sidecar is never killed before the regular containers.
  const score = isSidecarOf(pod, container)
    ? Math.min(containerScore, scoreOf(Math.min(...pod.spec.containers.map(memoryRequest))))
    : containerScore;
  return Math.min(Math.max(score, leastBurstable), bestEffort - 1);
}

function memoryRequest({ resources }: Pick<Container, 'resources'>): number {
  return value(resources?.requests?.['memory']);
}

function isSidecarOf({ spec }: Pod, container: Container | EphemeralContainer): boolean {
  return isRestartableInitContainer(container) && (spec.initContainers ?? []).some(({ name }) => name === container.name);
}

/** Returns each container's equal share of the amount by which the pod-level request exceeds the containers' requests. */
function podLevelShareBytes(pod: Pod): number {
  const { resources, containers, initContainers = [] } = pod.spec;
  const requests = resources?.requests ?? {};
  const total = value(requests['memory']);
  if (total === 0 || !Object.keys(requests).some(isPodLevelResource)) return 0;
  const claimed = value(podRequests(pod, { skipPodLevel: true })['memory']);
  return Math.trunc(Math.max(0, total - claimed) / (containers.length + initContainers.length));
}
