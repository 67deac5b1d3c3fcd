/**
 * The rotated logs that wait for their compression. The containers' logs take turns, so that a log that is rotated each second delays no other log for
 * long. Large files, from containers that write faster than logs are checked, wait in a queue of their own: their compression takes many seconds. Pure.
 */
export interface RotatedLog {
  readonly path: string;
  readonly sizeBytes: number;
}

export type CompressionClass = 'usual' | 'large';

/** A rotated log of more than this many times containerLogMaxSize is large. A log that is rotated in time is smaller. */
const maxUsualSizes = 4;

export class CompressionQueue {
  readonly #maxUsualBytes: number;
  /** The rotated logs of each log, oldest first. Never an empty list. */
  readonly #waiting = { usual: new Map<string, readonly string[]>(), large: new Map<string, readonly string[]>() };

  /** @param maxSizeBytes containerLogMaxSize */
  constructor(maxSizeBytes: number) {
    this.#maxUsualBytes = maxUsualSizes * maxSizeBytes;
  }

  /** `rotated`, oldest first, replaces the waiting files of this log. A log that already waits keeps its place in the queue. */
  set(log: string, rotated: readonly RotatedLog[]): void {
    const byClass = Object.groupBy(rotated, ({ sizeBytes }): CompressionClass => (sizeBytes > this.#maxUsualBytes ? 'large' : 'usual'));
    for (const kind of ['usual', 'large'] as const) this.#set(kind, log, byClass[kind]?.map(({ path }) => path) ?? []);
  }

  /** Removes and returns the next path. The newest rotation of a log is first: when logs are rotated fast, the oldest are removed soon. */
  take(kind: CompressionClass): string | undefined {
    for (const [log, paths] of this.#waiting[kind]) {
      this.#waiting[kind].delete(log);
      this.#set(kind, log, paths.slice(0, -1));
      return paths.at(-1);
    }
    return undefined;
  }

  clear(): void {
    this.#waiting.usual.clear();
    this.#waiting.large.clear();
  }

  #set(kind: CompressionClass, log: string, paths: readonly string[]): void {
    if (paths.length > 0) this.#waiting[kind].set(log, paths);
    else this.#waiting[kind].delete(log);
  }
}
