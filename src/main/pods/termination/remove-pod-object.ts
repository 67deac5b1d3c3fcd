/** The end of a pod's object in the API server: deleted without grace, since nothing of it is left to wait for, and only if it is the very one that is meant. */
import type { Pod } from '../../../shared/kubernetes/api.ts';
import { apiPath, type ApiCall, type ApiClient } from '../../api/index.ts';

export function podPath({ metadata: { namespace, name } }: Pod): string {
  return apiPath('api', 'v1', 'namespaces', namespace, 'pods', name);
}

/** Rejects as ApiClient.call does: NotFound when it is gone, Conflict when the name is another object's. */
export async function deletePodObject(client: ApiClient, pod: Pod, call: Pick<ApiCall, 'trafficClass' | 'signal'>): Promise<void> {
  const preconditions = { uid: pod.metadata.uid };
  const body = { apiVersion: 'v1', kind: 'DeleteOptions', gracePeriodSeconds: 0, preconditions };
  await client.call({ ...call, method: 'DELETE', path: podPath(pod), body, maxAttempts: 1 });
}
