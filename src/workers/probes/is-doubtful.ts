/** Decides whether an attempt's failure may be this node's and not the container's. */
import type { AttemptResult } from './actions/attempt.ts';

/** A container whose probe lost a tenth of its timeout may have answered in time. */
const maxDelayedShare = 0.1;
/**
 * One that gave no answer in several timeouts, and had half of the last one, is dead. Otherwise a node that is a bit late all the time, for which one pod
 * suffices, would never restart a container that hangs.
 */
const maxDelayedShareAtLast = 0.5;

/** `delayedMs` is how long this thread could not run during the attempt. `isLast`: the attempt would not be repeated. */
export function isDoubtful({ outcome, doubt }: AttemptResult, delayedMs: number, timeoutMs: number, isLast = false): boolean {
  if (outcome === 'success' || outcome === 'warning') return false;
  return doubt === 'node' || (doubt === 'time' && delayedMs >= (isLast ? maxDelayedShareAtLast : maxDelayedShare) * timeoutMs);
}
