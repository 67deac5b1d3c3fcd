/**
 * Runs operations that may take long. A caller waits a moment for the result and is woken when the result comes later, so a driver that does not
 * answer occupies no slot of the sync pool. Each key has at most one operation under way, so a driver has at most one call for a volume.
 */
import type { Clock } from '../../shared/time/clock.ts';

interface Operation<T> {
  readonly result: Promise<T>;
  readonly startedAtMs: number;
  waiting: number;
  isForgotten: boolean;
}

/** How long a caller waits. Enough for a local driver. The sync does other work meanwhile; it waits as long for a secret. */
const waitMs = 1000;

export class Operations<T> {
  readonly #clock: Clock;
  readonly #running = new Map<string, Operation<T>>();
  /** By key: the results that came when no caller waited any more. */
  readonly #late = new Map<string, T>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Starts the operation, unless it is under way. Resolves with its result, or with the time for which it has run; in that case `onLate` is
   * called when the result comes, and the next call for the key resolves with it. The operation must not reject.
   */
  async run(key: string, start: () => Promise<T>, onLate: () => void): Promise<{ readonly result: T } | { readonly runningMs: number }> {
    const late = this.#late.get(key);
    if (late !== undefined) {
      this.#late.delete(key);
      return { result: late };
    }
    const operation = this.#running.get(key) ?? this.#start(key, start, onLate);
    operation.waiting += 1;
    const stopTimer = new AbortController();
    const timer = this.#clock.sleep(waitMs, stopTimer.signal).then(
      () => null,
      () => null,
    );
    const outcome = await Promise.race([operation.result.then((result) => ({ result })), timer]);
    stopTimer.abort();
    operation.waiting -= 1;
    return outcome ?? { runningMs: this.#clock.monotonic() - operation.startedAtMs };
  }

  /** Drops the result of the key's operation, also if the operation is still under way. */
  forget(key: string): void {
    this.#late.delete(key);
    const operation = this.#running.get(key);
    if (operation) operation.isForgotten = true;
  }

  #start(key: string, start: () => Promise<T>, onLate: () => void): Operation<T> {
    const operation: Operation<T> = { result: start(), startedAtMs: this.#clock.monotonic(), waiting: 0, isForgotten: false };
    this.#running.set(key, operation);
    void this.#finish(key, operation, onLate);
    return operation;
  }

  async #finish(key: string, operation: Operation<T>, onLate: () => void): Promise<void> {
    const result = await operation.result;
    this.#running.delete(key);
    if (operation.waiting > 0 || operation.isForgotten) return;
    this.#late.set(key, result);
    onLate();
  }
}
