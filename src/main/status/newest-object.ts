/** Which of two views of one object is the newer: what a watch has shown, or the answer to a write of our own. Pure. */
import type { Pod } from '../../shared/kubernetes/api.ts';
import { isOlder } from '../api/index.ts';

/** The answer counts as long as it is not known to be as old as what was seen, or older. */
export function isNewer(answer: Pod, seen: Pod): boolean {
  if (answer.metadata.uid !== seen.metadata.uid) return false;
  const [ours, theirs] = [answer.metadata.resourceVersion ?? '', seen.metadata.resourceVersion ?? ''];
  return ours !== theirs && !isOlder(ours, theirs);
}
