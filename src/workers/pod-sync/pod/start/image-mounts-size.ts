/**
 * Bounds what the image volumes of a container add to the CreateContainer message: each mount's ImageSpec carries the pod's annotations, as upstream's does. A
 * pod of 500 KiB could make a message of a gigabyte. Pure.
 */
import { maxMessageBytes } from '../../../../shared/cri/message-limit.ts';
import type { Container, EphemeralContainer, Pod } from '../../../../shared/kubernetes/api.ts';

/** Returns the problem, or null. The runtime refuses a message beyond the limit, but only after it is encoded. */
export function imageMountsProblem(pod: Pod, { volumeMounts = [] }: Pick<Container | EphemeralContainer, 'volumeMounts'>): string | null {
  const imageVolumes = new Set((pod.spec.volumes ?? []).flatMap(({ name, image }) => (image ? [name] : [])));
  const mounts = volumeMounts.filter(({ name }) => imageVolumes.has(name)).length;
  const bytes = mounts * annotationBytes(pod);
  if (bytes <= maxMessageBytes) return null;
  return `the annotations of the pod, in each of ${mounts} mounts of images, take ${bytes} bytes, and the runtime accepts ${maxMessageBytes}`;
}

function annotationBytes({ metadata }: Pod): number {
  let bytes = 0;
  for (const [key, value] of Object.entries(metadata.annotations ?? {})) bytes += Buffer.byteLength(key) + Buffer.byteLength(value);
  return bytes;
}
