/** Identifies static pods, which come from a file or a URL instead of the API server, and the API objects that represent them. */
import { configMirrorAnnotation, configSourceAnnotation } from './annotations.ts';
import type { Pod } from './api.ts';

/** Upstream: kubetypes.IsStaticPod. */
export function isStaticPod(pod: Pod): boolean {
  const source = pod.metadata.annotations?.[configSourceAnnotation];
  return source !== undefined && source !== 'api';
}

/** True for pods with the mirror annotation, which the kubelet never runs (upstream: kubetypes.IsMirrorPod). */
export function isMirrorPod(pod: Pick<Pod, 'metadata'>): boolean {
  return pod.metadata.annotations?.[configMirrorAnnotation] !== undefined;
}
