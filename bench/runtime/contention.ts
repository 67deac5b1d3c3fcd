/**
 * Calls that work at the same time slow each other down, as they do in a runtime that starts processes on few cores. Modelled as
 * processor sharing: `cores` of work are done at once, each call gets at most one, and what runs beyond the best parallelism
 * costs all a little more. A call's `workMs` is what it takes alone.
 *
 * The defaults come from containerd on 2 cores: a pod alone takes 122 ms of calls; 100 pods 9.9 s with 8 at once and 11.8 s with
 * all 100 at once (one sandbox then takes 7 s).
 */
import type { Clock } from '../../src/shared/time/clock.ts';

export interface ContentionOptions {
  readonly cores: number;
  readonly bestParallelism: number;
  /** Share of the throughput that is lost with each call above the best parallelism. */
  readonly lossPerCall: number;
}

export const containerdContention: ContentionOptions = { cores: 1.23, bestParallelism: 8, lossPerCall: 0.002 };

/** Share of its full speed that each of `active` calls gets. */
export function speedOf(active: number, { cores, bestParallelism, lossPerCall }: ContentionOptions): number {
  const throughput = cores / (1 + lossPerCall * Math.max(0, active - bestParallelism));
  return Math.min(1, throughput / active);
}

interface Job {
  /** The point of the shared progress at which it is done. */
  readonly endsAt: number;
  readonly done: () => void;
}

export class SharedWork {
  readonly #options: ContentionOptions;
  readonly #clock: Clock;
  readonly #jobs = new Set<Job>();
  /** How much work a call that was always here would have had done, in ms. */
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

  /** Resolves when `workMs` of work were done for this call. An abort frees its share at once, and resolves too. */
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
    if (this.#jobs.size > 0) this.#progress += (now - this.#updatedAt) * speedOf(this.#jobs.size, this.#options);
    this.#updatedAt = now;
  }

  #schedule(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    if (this.#jobs.size === 0) return;
    let first = Infinity;
    for (const job of this.#jobs) first = Math.min(first, job.endsAt);
    const inMs = Math.max(0, (first - this.#progress) / speedOf(this.#jobs.size, this.#options));
    this.#cancelTimer = this.#clock.after(inMs, () => {
      this.#advance();
      // Timers ring up to 1 ms early or late: what is within half of one is done.
      for (const job of this.#jobs) {
        if (job.endsAt > this.#progress + 0.5) continue;
        this.#jobs.delete(job);
        job.done();
      }
      this.#schedule();
    });
  }
}
