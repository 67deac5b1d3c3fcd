/**
 * Simulates that concurrent calls slow each other down, as in a runtime that starts processes on few cores. The model is processor sharing:
 * `cores` of work progress at once, each call uses at most one core, and each call above the best parallelism reduces the total
 * throughput. `workMs` is a call's duration when it runs alone.
 *
 * The defaults were measured on containerd with 2 cores: the calls of a single pod take 122 ms; 100 pods take 9.9 s with 8 at once and
 * 11.8 s with all 100 at once (one sandbox then takes 7 s).
 */
import type { Clock } from '../../src/shared/time/clock.ts';

export interface ContentionOptions {
  readonly cores: number;
  readonly bestParallelism: number;
  /** Relative loss of throughput per call above the best parallelism. */
  readonly lossPerCall: number;
}

export const containerdContention: ContentionOptions = { cores: 1.23, bestParallelism: 8, lossPerCall: 0.002 };

/** Returns the relative speed of each of `active` calls. */
export function computeSpeed(active: number, { cores, bestParallelism, lossPerCall }: ContentionOptions): number {
  const throughput = cores / (1 + lossPerCall * Math.max(0, active - bestParallelism));
  return Math.min(1, throughput / active);
}

interface Job {
  /** The value of the shared progress at which the job is done. */
  readonly endsAt: number;
  readonly done: () => void;
}

export class SharedWork {
  readonly #options: ContentionOptions;
  readonly #clock: Clock;
  readonly #jobs = new Set<Job>();
  /** The work done so far for a hypothetical call that runs since the start, ms. */
  #progress = 0;
  #updatedAt = 0;
  #cancelTimer: (() => void) | undefined;

  constructor(options: ContentionOptions, clock: Clock) {
    this.#options = options;
    this.#clock = clock;
  }

  get active(): number {
    return this.#jobs.size;
  }

  /** Resolves when `workMs` of work are done. An abort removes the call at once and resolves too. */
  run(workMs: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      this.#advance();
      const end = () => {
        signal.removeEventListener('abort', leave);
        resolve();
      };
      const job: Job = { endsAt: this.#progress + workMs, done: end };
      const leave = () => {
        this.#advance();
        this.#jobs.delete(job);
        this.#schedule();
        end();
      };
      signal.addEventListener('abort', leave);
      this.#jobs.add(job);
      this.#schedule();
    });
  }

  #advance(): void {
    const now = this.#clock.monotonic();
    if (this.#jobs.size > 0) this.#progress += (now - this.#updatedAt) * computeSpeed(this.#jobs.size, this.#options);
    this.#updatedAt = now;
  }

  #schedule(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    if (this.#jobs.size === 0) return;
    let first = Infinity;
    for (const job of this.#jobs) first = Math.min(first, job.endsAt);
    const inMs = Math.max(0, (first - this.#progress) / computeSpeed(this.#jobs.size, this.#options));
    this.#cancelTimer = this.#clock.after(inMs, () => {
      this.#advance();
      // Timers may fire 1 ms early or late, so jobs within half a millisecond are done.
      for (const job of this.#jobs) {
        if (job.endsAt > this.#progress + 0.5) continue;
        this.#jobs.delete(job);
        job.done();
      }
      this.#schedule();
    });
  }
}
