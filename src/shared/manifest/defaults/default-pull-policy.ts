/** When an image is pulled, where the container does not say: always for `latest`, which moves, and else only when it is not there. */
import { parseImageName } from '../../kubernetes/image-name.ts';

/** `image` may be no image name at all: that is for the pull to find out. */
export function defaultPullPolicy(image: string): 'Always' | 'IfNotPresent' {
  try {
    return parseImageName(image).tag === 'latest' ? 'Always' : 'IfNotPresent';
  } catch {
    return 'IfNotPresent';
  }
}
