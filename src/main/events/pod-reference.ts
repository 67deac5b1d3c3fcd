/** The reference by which an event names its pod. Upstream: GetReference in client-go tools/reference. */
import type { ObjectReference, Pod } from '../../shared/kubernetes/api.ts';

export function podReference(pod: Pod): ObjectReference {
  const { namespace, name, uid, resourceVersion } = pod.metadata;
  return { kind: 'Pod', apiVersion: 'v1', namespace, name, uid, ...(resourceVersion === undefined ? {} : { resourceVersion }) };
}
