/** Which pods come from this node itself: they have no object in the API server but a mirror. */
import { configSourceAnnotation } from '../../../shared/kubernetes/annotations.ts';
import type { Pod } from '../../../shared/kubernetes/api.ts';

/** From a file or a URL, not from the API server (upstream: kubetypes.IsStaticPod). */
export function isStaticPod(pod: Pod): boolean {
  const source = pod.metadata.annotations?.[configSourceAnnotation];
  return source !== undefined && source !== 'api';
}
