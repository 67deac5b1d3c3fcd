/**
 * Whether the API server is there, by how calls end, for those who wait for it: a watch that lost it may be in a back-off of many seconds
 * when the lease, which tries more often, is answered again.
 */
import type { Clock } from '../../../shared/time/clock.ts';

/** After a shorter absence every back-off is short, too; and of calls that fail by turns, as over a bad line, nobody is to be woken. */
const minAwayMs = 2000;

export class ServerPresence {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #listeners = new Set<() => void>();
  /** Null: the last call was answered. */
  #awaySinceMs: number | null = null;

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** Called when the server answers after some seconds in which it did not; until what is returned is called. */
  onReturn(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** A call found nobody, or a server (or who stands before it) that can't answer it. */
  failed(): void {
    this.#awaySinceMs ??= this.#clock.monotonic();
  }

  /** A call was done. */
  answered(): void {
    if (this.#awaySinceMs === null) return;
    const awayMs = this.#clock.monotonic() - this.#awaySinceMs;
    this.#awaySinceMs = null;
    if (awayMs >= minAwayMs) for (const listener of this.#listeners) listener();
  }
}
