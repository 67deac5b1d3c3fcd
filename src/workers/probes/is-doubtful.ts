/** Decides whether this node, and not the container, may be the cause of an attempt's failure. Pure. */
import type { AttemptResult } from './actions/attempt.ts';

/** When this thread could not run for a tenth of the timeout, the container may have answered in time. */
const maxDelayedShare = 0.1;
/**
 * The limit for the last repetition: a container that gave no answer in several timeouts, and had half of the last timeout, counts as dead. Otherwise a node
 * whose thread is always a bit late, which a single pod can cause, would never restart a container that hangs.
 */
const maxDelayedShareAtLast = 0.5;

/** `delayedMs` is how long this thread could not run during the attempt. `isLast`: the attempt would not be repeated. */
export function isDoubtful({ outcome, doubt }: AttemptResult, delayedMs: number, timeoutMs: number, isLast = false): boolean {
  if (outcome === 'success' || outcome === 'warning') return false;
  return doubt === 'node' || (doubt === 'time' && delayedMs >= (isLast ? maxDelayedShareAtLast : maxDelayedShare) * timeoutMs);
}
