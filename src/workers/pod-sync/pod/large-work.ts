/**
 * Bounds the memory that a thread needs for large objects (config maps, expanded environments): only some of its tasks have the permission to hold large
 * objects, and the others wait in their order. Small objects need no permission, so that ordinary pods never wait for a pod with large ones.
 */

/** The most that a task without permission reads, or makes from the pod's fields, for one volume or one container. */
export const maxSmallBytes = 256 * 1024;
/** The most that a task with permission reads or makes for the files of one volume, or the objects of one environment. Its copies take two to three times that. */
export const maxLargeBytes = 10 * 1024 * 1024;

/** Two tasks with large objects and their copies, beside ordinary tasks, fit well into the memory of a thread (main/threads/supervised-pool.ts). */
const maxTasks = 2;

/** Thrown by work without permission when its objects are large: the caller repeats the work with permission. */
export class LargeWorkError extends Error {
  override readonly name = 'LargeWorkError';
  constructor() {
    super(`more than ${maxSmallBytes} bytes`);
  }
}

/** Grants the permissions of one thread. */
export class LargeWorkLimiter {
  /** The number of tasks with a permission. */
  #tasks = 0;
  readonly #waiting = new Set<() => void>();

  /** Returns the permissions of one task. The task closes them at its end. */
  forTask(): LargeWork {
    return new LargeWork(this);
  }

  /** Resolves when the task has a permission. Rejects with the signal's reason. */
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

  /** Returns the permission of a task, or passes it to the task that waits longest. */
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

/** The holder for all volumes. No container has its name. */
const volumes = Symbol('volumes');

/**
 * The permission of one task, which all its holders (containers, volumes) share. While the task has its permission, a further holder does not wait: tasks that
 * each held one permission and waited for a second one could block each other.
 */
export class LargeWork {
  readonly #limiter: LargeWorkLimiter;
  readonly #holders = new Set<string | typeof volumes>();
  /** Resolves when the task has its permission. Null: no holder needs one. */
  #entered: Promise<void> | null = null;
  /** The last work that was passed to `inTurn`. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(limiter: LargeWorkLimiter) {
    this.#limiter = limiter;
  }

  /** Resolves when the holder, such as a container, may hold large objects. Rejects with the signal's reason. */
  async enter(holder: string | typeof volumes, signal: AbortSignal): Promise<void> {
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
  leave(holder: string | typeof volumes): void {
    if (!this.#holders.delete(holder) || this.#holders.size > 0) return;
    const entered = this.#entered;
    this.#entered = null;
    entered?.then(
      () => this.#limiter.leave(),
      () => {},
    );
  }

  /** Runs the large work of volumes with permission, one after the other: their files are never in memory together. */
  inTurn<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const run = async () => {
      await this.enter(volumes, signal);
      try {
        return await work();
      } finally {
        this.leave(volumes);
      }
    };
    const result = this.#last.then(run);
    this.#last = result.catch(() => {});
    return result;
  }

  /** Ends the task's permission. */
  close(): void {
    for (const holder of this.#holders) this.leave(holder);
  }
}
