/**
 * Separate threads for the tasks of suspects (suspects.ts). A task is on probation when it begins; as many tasks as there are threads may be on
 * probation at a time, so the death of a thread can be blamed on the task that has just begun. The threads start with the first such task, and
 * end with the last one.
 */
import type { Piscina } from 'piscina';
import { SupervisedPool, type SupervisedPoolOptions } from './supervised-pool.ts';

/** shared-thread-state.ts has slots for this many threads and for their replacements. */
export const quarantineThreads = 2;
/** A task that has run for this long waits for a hook or for the end of a container. Its probation ends, so the next task begins. */
const probationMs = 3000;

export class QuarantinePool {
  readonly #options: Omit<SupervisedPoolOptions, 'threads'>;
  #pool: SupervisedPool | null = null;
  #tasks = 0;
  #onProbation = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(options: Omit<SupervisedPoolOptions, 'threads'>) {
    this.#options = options;
  }

  /**
   * Runs a task when the tasks before it have ended, or ended their probation.
   * @param onBlame called when the task is lost with its thread during its probation
   */
  async run<T>(send: (pool: Piscina) => Promise<T>, onBlame: () => void): Promise<T> {
    this.#tasks += 1;
    try {
      return await this.#runOnProbation(send, onBlame);
    } finally {
      this.#tasks -= 1;
      if (this.#tasks === 0) void this.destroy();
    }
  }

  /** Terminates all threads. */
  async destroy(): Promise<void> {
    const pool = this.#pool;
    this.#pool = null;
    pool?.close();
    await pool?.destroy().catch(() => {});
  }

  async #runOnProbation<T>(send: (pool: Piscina) => Promise<T>, onBlame: () => void): Promise<T> {
    if (this.#onProbation >= quarantineThreads) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#onProbation += 1;
    let isOnProbation = true;
    const endProbation = () => {
      if (!isOnProbation) return;
      isOnProbation = false;
      const next = this.#waiting.shift();
      if (next) next();
      else this.#onProbation -= 1;
    };
    const cancel = this.#options.clock.after(probationMs, endProbation);
    this.#pool ??= new SupervisedPool({ ...this.#options, threads: quarantineThreads });
    try {
      return await this.#pool.run(send);
    } catch (err) {
      if (isOnProbation) onBlame();
      throw err;
    } finally {
      cancel();
      endProbation();
    }
  }
}
