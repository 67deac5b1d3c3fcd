/** The body of `/pods`: every pod that the sources want, with its status as it is now. Upstream: encodePods in pkg/kubelet/server. */
import { podUID } from '../../shared/kubernetes/ids.ts';
import type { PodManager } from '../pods/pod-manager.ts';
import type { PodStatuses } from '../pods/pod-statuses.ts';

export function podListJson(podManager: PodManager, statuses: PodStatuses): string {
  const items = podManager.all().map((pod) => ({ ...pod, status: statuses.get(podUID(pod)) ?? pod.status ?? {} }));
  return JSON.stringify({ kind: 'PodList', apiVersion: 'v1', metadata: {}, items });
}
