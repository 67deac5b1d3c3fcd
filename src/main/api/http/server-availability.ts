/**
 * Derives from the results of calls whether the API server is available, and notifies listeners when it recovers. A watch may be in a
 * back-off of many seconds when a lease call, which is retried more often, succeeds again.
 */
import type { Clock } from '../../../shared/time/clock.ts';
import { Listeners } from '../../../shared/concurrency/listeners.ts';

/** A shorter outage causes only short back-offs. It may also be single failures on a bad connection, which must not wake every listener. */
const minOutageMs = 2000;

export class ServerAvailability {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #listeners = new Listeners();
  /** Null while the last call succeeded. */
  #unavailableSinceMs: number | null = null;

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** Calls the listener when a call succeeds after an outage of at least `minOutageMs`. Returns an unsubscribe function. */
  onRecovery(listener: () => void): () => void {
    return this.#listeners.add(listener);
  }

  /** Called when a call got no response, or a 5xx from the server or a proxy. */
  markUnavailable(): void {
    this.#unavailableSinceMs ??= this.#clock.monotonic();
  }

  /** Called when a call succeeded. */
  markAvailable(): void {
    if (this.#unavailableSinceMs === null) return;
    const outageMs = this.#clock.monotonic() - this.#unavailableSinceMs;
    this.#unavailableSinceMs = null;
    if (outageMs >= minOutageMs) this.announce();
  }

  announce(): void {
    this.#listeners.notify();
  }
}
