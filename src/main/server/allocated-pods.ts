/**
 * The bodies of `/allocatedPods`: active pods that were admitted, with their allocated resources and without status. Pure.
 * Upstream: getAllocatedPods and getAllocatedPod of pkg/kubelet/server, GetAllocatedPodByName of pkg/kubelet.
 */
import { contain } from '../../shared/errors/contain.ts';
import type { AllocatedPod } from '../allocation/index.ts';
import { podUID } from '../../shared/kubernetes/ids.ts';
import type { Logger } from '../../shared/log/logger.ts';
import type { AllocatedPodQuery } from '../../shared/contracts/server/calls.ts';

/** Omits a pod that cannot be serialized. */
export function allocatedPodListJson(pods: readonly AllocatedPod[], logger: Logger): string {
  const items = pods.flatMap((pod) => {
    const toJson = () => JSON.stringify({ ...pod, status: {} });
    return contain({ handler: 'allocated pods', logger, fields: { podUID: podUID(pod) } }, toJson) ?? [];
  });
  return `{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[${items.join(',')}]}`;
}

/** Returns null when no such pod is active and admitted. */
export function allocatedPodJson(pods: readonly AllocatedPod[], { namespace, name, uid }: AllocatedPodQuery): string | null {
  const pod = pods.find(({ metadata }) => metadata.namespace === namespace && metadata.name === name);
  if (!pod || (uid !== undefined && podUID(pod) !== uid)) return null;
  return JSON.stringify({ ...pod, kind: 'Pod', apiVersion: 'v1', status: {} });
}
