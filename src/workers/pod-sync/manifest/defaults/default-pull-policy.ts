/** The default image pull policy: Always for the tag `latest`, which changes over time, otherwise IfNotPresent. */
import { parseImageName } from '../../../../shared/kubernetes/image-name.ts';

/** `image` may be invalid. The image pull reports that. */
export function defaultPullPolicy(image: string): 'Always' | 'IfNotPresent' {
  try {
    return parseImageName(image).tag === 'latest' ? 'Always' : 'IfNotPresent';
  } catch {
    return 'IfNotPresent';
  }
}
