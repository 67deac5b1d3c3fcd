/** Deletes a pod's object in the API server, with grace period 0 because the pod has terminated, and with its UID as precondition. */
import type { Pod } from '../../../shared/kubernetes/api.ts';
import { apiPath, type ApiCall, type ApiClient } from '../../api/index.ts';

export function podPath({ metadata: { namespace, name } }: Pod): string {
  return apiPath('api', 'v1', 'namespaces', namespace, 'pods', name);
}

/** Rejects as ApiClient.call: NotFound when the object is gone, Conflict when another object has the name. */
export async function deletePodObject(client: ApiClient, pod: Pod, call: Pick<ApiCall, 'trafficClass' | 'signal'>): Promise<void> {
  const preconditions = { uid: pod.metadata.uid };
  const body = { apiVersion: 'v1', kind: 'DeleteOptions', gracePeriodSeconds: 0, preconditions };
  await client.call({ ...call, method: 'DELETE', path: podPath(pod), body, maxAttempts: 1 });
}
