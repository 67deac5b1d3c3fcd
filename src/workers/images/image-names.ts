/** The names under which a runtime lists an image that a pod names (`busybox` is listed as `docker.io/library/busybox:latest`). Pure. */
import { parseImageName } from '../../shared/kubernetes/image-name.ts';

/** Returns the name as written, and with its default domain and tag. Only the first for an image ID or an invalid name. */
export function imageNames(image: string): string[] {
  try {
    const { repository, tag, digest } = parseImageName(image);
    // A runtime ignores the tag of a name with a digest.
    return [...new Set([image, digest === '' ? `${repository}:${tag}` : `${repository}@${digest}`])];
  } catch {
    return [image];
  }
}
