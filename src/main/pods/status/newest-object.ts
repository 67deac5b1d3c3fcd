/** Compares two versions of one object: the one from the watch and the response to a write of our own. Pure. */
import type { Pod } from '../../../shared/kubernetes/api.ts';
import { isOlder } from '../../api/index.ts';

/** False when the response is known to be as old as the watched version, or older. */
export function isNewer(response: Pod, watched: Pod): boolean {
  if (response.metadata.uid !== watched.metadata.uid) return false;
  const [responseVersion, watchedVersion] = [response.metadata.resourceVersion ?? '', watched.metadata.resourceVersion ?? ''];
  return responseVersion !== watchedVersion && !isOlder(responseVersion, watchedVersion);
}
