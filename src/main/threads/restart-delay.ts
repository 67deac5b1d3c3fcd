/** When a thread that died is started again: at once; later and later while it keeps dying young. */
import { nextBackoffMs, withJitter } from '../../shared/time/backoff.ts';

/** A thread that lived this long was well: its death starts the back-off anew. */
export const wellAfterMs = 10_000;
const limits = { initialMs: 50, maxMs: 30_000 };

export interface RestartHistory {
  /** Deaths in a row of lives shorter than `wellAfterMs`. */
  readonly earlyDeaths: number;
}

/** The first two deaths in a row are answered within 50 ms, the sixth within a second, later ones up to 45 s apart. */
export function afterDeath(
  history: RestartHistory,
  lifetimeMs: number,
  random: () => number,
): { readonly history: RestartHistory; readonly delayMs: number } {
  if (lifetimeMs >= wellAfterMs) return { history: { earlyDeaths: 0 }, delayMs: 0 };
  const earlyDeaths = history.earlyDeaths + 1;
  if (earlyDeaths === 1) return { history: { earlyDeaths }, delayMs: 0 };
  let delayMs: number | undefined;
  for (let death = 1; death < earlyDeaths; death += 1) delayMs = nextBackoffMs(delayMs, limits);
  return { history: { earlyDeaths }, delayMs: withJitter(delayMs ?? 0, 0.5, random) };
}
