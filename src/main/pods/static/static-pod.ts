/** Identifies static pods, which come from a file or a URL instead of the API server. */
import { configSourceAnnotation } from '../../../shared/kubernetes/annotations.ts';
import type { Pod } from '../../../shared/kubernetes/api.ts';

/** Upstream: kubetypes.IsStaticPod. */
export function isStaticPod(pod: Pod): boolean {
  const source = pod.metadata.annotations?.[configSourceAnnotation];
  return source !== undefined && source !== 'api';
}
