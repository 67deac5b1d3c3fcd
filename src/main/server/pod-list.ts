/** The body of `/pods`: every pod of the sources, with its current status. Upstream: encodePods in pkg/kubelet/server. */
import { contain } from '../../shared/errors/contain.ts';
import { podUID } from '../../shared/kubernetes/ids.ts';
import type { Logger } from '../../shared/log/logger.ts';
import type { PodManager } from '../pods/pod-manager.ts';
import type { ApiStatusCache } from '../pods/api-status/index.ts';

/** Omits a pod that cannot be serialized. */
export function podListJson(podManager: Pick<PodManager, 'all'>, statuses: Pick<ApiStatusCache, 'get'>, logger: Logger): string {
  const items = podManager.all().flatMap((pod) => {
    const uid = podUID(pod);
    const toJson = () => JSON.stringify({ ...pod, status: statuses.get(uid) ?? pod.status ?? {} });
    return contain({ handler: 'pod list', logger, fields: { podUID: uid } }, toJson) ?? [];
  });
  return `{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[${items.join(',')}]}`;
}
