/** Decides whether an attempt's failure may be this node's and not the container's. */
import type { AttemptResult } from './actions/attempt.ts';

/** A container whose probe lost a tenth of its timeout may have answered in time. */
const maxDelayedShare = 0.1;

/** `delayedMs` is how long this thread could not run during the attempt. */
export function isDoubtful({ outcome, doubt }: AttemptResult, delayedMs: number, timeoutMs: number): boolean {
  if (outcome === 'success' || outcome === 'warning') return false;
  return doubt === 'node' || (doubt === 'time' && delayedMs >= maxDelayedShare * timeoutMs);
}
