/** A thread that starts with its first call: nodes that do not need it do not have it. */
import type { Thread } from './thread.ts';

export class LazyThread<Api> {
  readonly #start: () => Thread<Api>;
  #thread: Thread<Api> | null = null;

  constructor(start: () => Thread<Api>) {
    this.#start = start;
  }

  /** Starts the thread at the first use. */
  get thread(): Thread<Api> {
    this.#thread ??= this.#start();
    return this.#thread;
  }

  /** Null before the first call. */
  get started(): Thread<Api> | null {
    return this.#thread;
  }

  async close(): Promise<void> {
    await this.#thread?.close();
  }
}
