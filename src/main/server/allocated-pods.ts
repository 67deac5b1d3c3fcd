/**
 * The answers of `/allocatedPods`: active pods that were admitted, with their allocated resources and without status. Pure.
 * Upstream: getAllocatedPods and getAllocatedPod of pkg/kubelet/server, GetAllocatedPodByName of pkg/kubelet.
 */
import type { AllocatedPod } from '../allocation/index.ts';
import { podUID } from '../../shared/kubernetes/ids.ts';
import type { AllocatedPodQuery } from '../../shared/contracts/server/calls.ts';
import type { PodList } from './pod-lists.ts';

export function allocatedPodList(pods: () => readonly AllocatedPod[]): PodList {
  return {
    uids: () => pods().map(podUID),
    find: () => {
      const byUID = new Map(pods().map((pod) => [podUID(pod), pod]));
      return (uid) => {
        const pod = byUID.get(uid);
        return pod && { ...pod, status: {} };
      };
    },
  };
}

/** Returns null when no such pod is active and admitted. */
export function allocatedPodJson(pods: readonly AllocatedPod[], { namespace, name, uid }: AllocatedPodQuery): string | null {
  const pod = pods.find(({ metadata }) => metadata.namespace === namespace && metadata.name === name);
  if (!pod || (uid !== undefined && podUID(pod) !== uid)) return null;
  return JSON.stringify({ ...pod, kind: 'Pod', apiVersion: 'v1', status: {} });
}
