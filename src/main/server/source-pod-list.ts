/** The list of `/pods`: every pod of the sources, with its current status. Upstream: GetPods of pkg/kubelet. */
import { podUID } from '../../shared/kubernetes/ids.ts';
import type { PodManager } from '../pods/pod-manager.ts';
import type { ApiStatusCache } from '../pods/api-status/index.ts';
import type { PodList } from './pod-lists.ts';

export function sourcePodList(podManager: Pick<PodManager, 'all' | 'get'>, statuses: Pick<ApiStatusCache, 'get'>): PodList {
  return {
    uids: () => podManager.all().map(podUID),
    find: () => (uid) => {
      const pod = podManager.get(uid);
      return pod && { ...pod, status: statuses.get(uid) ?? pod.status ?? {} };
    },
  };
}
