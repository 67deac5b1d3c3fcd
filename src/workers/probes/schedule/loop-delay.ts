/**
 * Measures how long this thread could not run: its event loop was blocked, or the machine did not schedule it. The measure is the delay of timers, so while
 * probes run, a timer is due at least every 100 ms.
 */
import type { TimerEntry, TimerQueue } from './timer-queue.ts';

const tickMs = 100;
/** Shorter delays are the noise of timers, and of the loop's own work. */
const minDelayMs = 20;

export class LoopDelay {
  #timers: TimerQueue | undefined;
  #runningProbes = 0;
  #tick: TimerEntry | undefined;
  #totalMs = 0;

  /** The sum of all delays. A probe compares the values at its start and at its end. */
  get totalMs(): number {
    return this.#totalMs;
  }

  /** Call this once; the queue's `onFired` is `observe`. */
  follow(timers: TimerQueue): void {
    this.#timers = timers;
  }

  observe(lateMs: number): void {
    if (lateMs >= minDelayMs) this.#totalMs += lateMs;
  }

  /** A probe runs until `end`. */
  begin(): void {
    this.#runningProbes += 1;
    if (!this.#tick) this.#setTick();
  }

  end(): void {
    this.#runningProbes -= 1;
  }

  #setTick(): void {
    const timers = this.#timers;
    this.#tick = timers?.at(timers.nowMs() + tickMs, () => {
      this.#tick = undefined;
      if (this.#runningProbes > 0) this.#setTick();
    });
  }
}
