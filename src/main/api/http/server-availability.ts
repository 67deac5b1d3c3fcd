/**
 * Whether the API server is there, by how calls end, for those who wait for it: a watch that lost it may be in a back-off of many seconds
 * when the lease, which tries more often, is answered again.
 */
import type { Clock } from '../../../shared/time/clock.ts';

/** After a shorter absence every back-off is short, too; and of calls that fail by turns, as over a bad line, nobody is to be woken. */
const minOutageMs = 2000;

export class ServerAvailability {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #listeners = new Set<() => void>();
  /** Null: the last call was answered. */
  #unavailableSinceMs: number | null = null;

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** Called when the server answers after some seconds in which it did not; until what is returned is called. */
  onRecovery(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** A call found nobody, or a server (or who stands before it) that can't answer it. */
  markUnavailable(): void {
    this.#unavailableSinceMs ??= this.#clock.monotonic();
  }

  /** A call was done. */
  markAvailable(): void {
    if (this.#unavailableSinceMs === null) return;
    const awayMs = this.#clock.monotonic() - this.#unavailableSinceMs;
    this.#unavailableSinceMs = null;
    if (awayMs >= minOutageMs) for (const listener of this.#listeners) listener();
  }
}
