/**
 * Bounds what a thread holds in large objects (config maps, expanded environments): few of its tasks hold them at a time, the others wait in their order.
 * Small objects need no permission, so that ordinary pods never wait for a large one.
 */

/** What a task may read, or make of its pod's fields, without permission: for each volume and container. */
export const maxSmallBytes = 256 * 1024;
/** What a task reads or makes with permission: the files of a volume, or the objects of an environment. Its copies take two to three times as much. */
export const maxLargeBytes = 10 * 1024 * 1024;

/** Two tasks with their copies, and what ordinary tasks hold, fit well into the memory of a thread (main/threads/supervised-pool.ts). */
const maxTasks = 2;

/** Thrown where a small object was expected: the work is done again, with permission. */
export class LargeWorkError extends Error {
  override readonly name = 'LargeWorkError';
  constructor() {
    super(`more than ${maxSmallBytes} bytes`);
  }
}

/** Of a thread. */
export class LargeWorkLimiter {
  #tasks = 0;
  readonly #waiting = new Set<() => void>();

  /** Returns the permissions of one task. The task closes them at its end. */
  forTask(): LargeWork {
    return new LargeWork(this);
  }

  /** Rejects with the signal's reason. */
  async enter(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#tasks < maxTasks) {
      this.#tasks += 1;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const enter = () => {
        signal.removeEventListener('abort', abort);
        resolve();
      };
      const abort = () => {
        this.#waiting.delete(enter);
        reject(signal.reason as Error);
      };
      signal.addEventListener('abort', abort, { once: true });
      this.#waiting.add(enter);
    });
  }

  leave(): void {
    const [next] = this.#waiting;
    if (!next) {
      this.#tasks -= 1;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}

/** Of a task. A task that has the permission for one thing gets it for another at once: it never holds one while it waits for the other. */
export class LargeWork {
  readonly #limiter: LargeWorkLimiter;
  readonly #holders = new Set<string>();
  #entered: Promise<void> | null = null;
  /** The work that runs in turn. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(limiter: LargeWorkLimiter) {
    this.#limiter = limiter;
  }

  /** Resolves when the holder, such as a container, may hold large objects. Rejects with the signal's reason. */
  async enter(holder: string, signal: AbortSignal): Promise<void> {
    this.#holders.add(holder);
    this.#entered ??= this.#limiter.enter(signal);
    try {
      await this.#entered;
    } catch (err) {
      this.#holders.clear();
      this.#entered = null;
      throw err;
    }
  }

  /** Idempotent. */
  leave(holder: string): void {
    if (!this.#holders.delete(holder) || this.#holders.size > 0) return;
    const entered = this.#entered;
    this.#entered = null;
    entered?.then(
      () => this.#limiter.leave(),
      () => {},
    );
  }

  /** Runs works of the task one after the other. */
  inTurn<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const run = async () => {
      await this.enter('turn', signal);
      try {
        return await work();
      } finally {
        this.leave('turn');
      }
    };
    const result = this.#last.then(run);
    this.#last = result.catch(() => {});
    return result;
  }

  close(): void {
    for (const holder of this.#holders) this.leave(holder);
  }
}
