/** The delay before a thread is restarted: none at first, then a growing one while the thread keeps dying early. */
import { nextBackoffMs, withJitter } from '../../shared/time/backoff.ts';

/** The death of a thread that ran for this long resets the back-off. */
export const healthyAfterMs = 10_000;
const limits = { initialMs: 50, maxMs: 30_000 };

export interface RestartHistory {
  /** Consecutive deaths within `healthyAfterMs` of the start. */
  readonly earlyDeaths: number;
}

/** The first two consecutive deaths are followed by a restart within 75 ms, the sixth within 1.2 s; later delays grow up to 45 s. */
export function computeRestart(
  history: RestartHistory,
  uptimeMs: number,
  random: () => number,
): { readonly history: RestartHistory; readonly delayMs: number } {
  if (uptimeMs >= healthyAfterMs) return { history: { earlyDeaths: 0 }, delayMs: 0 };
  const earlyDeaths = history.earlyDeaths + 1;
  if (earlyDeaths === 1) return { history: { earlyDeaths }, delayMs: 0 };
  let delayMs: number | undefined;
  for (let death = 1; death < earlyDeaths; death += 1) delayMs = nextBackoffMs(delayMs, limits);
  return { history: { earlyDeaths }, delayMs: withJitter(delayMs ?? 0, 0.5, random) };
}
