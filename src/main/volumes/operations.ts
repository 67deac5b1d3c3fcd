/**
 * Operations that may take long: a caller waits a moment for the result, and is woken when it comes later. Each key has one operation under way, whoever asks for it. So a
 * driver that does not answer keeps no slot of the sync pool, and has at most one call for a volume.
 */
import type { Clock } from '../../shared/time/clock.ts';

interface Operation<T> {
  readonly result: Promise<T>;
  readonly startedAtMs: number;
  waiting: number;
  isForgotten: boolean;
}

/** Enough for a local driver. The sync does other work meanwhile, or waits for a secret as long. */
const waitMs = 1000;

export class Operations<T> {
  readonly #clock: Clock;
  readonly #running = new Map<string, Operation<T>>();
  /** Results for which nobody has waited. */
  readonly #late = new Map<string, T>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Starts the operation, unless it is under way. Resolves with its result, or with how long it takes already; `onLate` is then called with the result, and the next
   * call for the key resolves with it. The operation must not reject.
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

  /** Drops the result, also one that is still to come. */
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
