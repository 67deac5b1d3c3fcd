/**
 * Threads for the tasks of suspects (suspects.ts), which begin one at a time in each: a task is alone with tasks that have run for a while, and seldom with those.
 * The threads are started with the first of these tasks, and end with the last one.
 */
import type { Piscina } from 'piscina';
import { SupervisedPool, type SupervisedPoolOptions } from './supervised-pool.ts';

/** The slots of threads include those of this many, and of their replacements. */
export const quarantineThreads = 2;
/** A task that has run for this long waits for a hook or for the end of a container. The next one does not wait for it. */
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
   * Runs a task after those that came before have begun well.
   * @param onBlame called when the task is lost with its thread soon after it has begun
   */
  async run<T>(send: (pool: Piscina) => Promise<T>, onBlame: () => void): Promise<T> {
    this.#tasks += 1;
    try {
      return await this.#runInTurn(send, onBlame);
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

  async #runInTurn<T>(send: (pool: Piscina) => Promise<T>, onBlame: () => void): Promise<T> {
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
