/**
 * Decides which name of its image a container shows. The runtime reports any tag of the image, whatever the pod names. Pure. Upstream shows
 * what the runtime reports.
 */
import type { RuntimeContainerStatus } from '../../../shared/contracts/runtime-status.ts';
import type { Container, ContainerStatus } from '../../../shared/kubernetes/api.ts';
import { containerHash } from '../../../shared/kubernetes/container-hash.ts';
import { parseImageName, type ImageName } from '../../../shared/kubernetes/image-name.ts';

/** More characters than any valid name has. To hash the container with a huge name would be expensive. */
const maxNameLength = 2048;

/** Returns the runtime's form of the spec's name (`docker.io/library/busybox:latest` for `busybox`), or the spec's name when the runtime reports another one. */
export function shownImage(
  { image: reported, hash, id }: Pick<RuntimeContainerStatus, 'image' | 'hash' | 'id'>,
  container: Container,
  previousStatus: ContainerStatus | undefined,
): string {
  const { image = '' } = container;
  if (reported === image || image === '' || image.length > maxNameLength || isNameOf(reported, image)) return reported;
  if (hash === containerHash(container)) return image;
  // The image was changed in the spec, and this instance still has the former one.
  return previousStatus?.containerID?.endsWith(`//${id}`) ? previousStatus.image : reported;
}

/** Returns whether the runtime's name is the full form of the spec's. For a name without a registry, the runtime chooses one. */
function isNameOf(reported: string, image: string): boolean {
  const [listed, wanted] = [parse(reported), parse(image)];
  if (!listed || !wanted || listed.digest !== wanted.digest) return false;
  if (wanted.digest === '' && listed.tag !== wanted.tag) return false;
  const [, path = ''] = /^docker\.io\/(?:library\/)?(.*)$/.exec(wanted.repository) ?? [];
  const isShort = path !== '' && image.startsWith(path);
  return listed.repository === wanted.repository || (isShort && listed.repository.endsWith(`/${path}`));
}

function parse(image: string): ImageName | undefined {
  try {
    return parseImageName(image);
  } catch {
    return undefined;
  }
}
