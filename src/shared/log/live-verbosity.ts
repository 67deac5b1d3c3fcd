/**
 * The verbosity that can change while the kubelet runs (`/debug/flags/v`): a cell of shared memory on which every thread waits. Without a cell, loggers keep
 * their initial level, at no cost.
 */
import type { Logger } from './logger.ts';

/** The cell's initial value: the loggers keep their initial level. */
const notSet = -1;

/** Main creates the cell once, and passes it to every thread in its LoggingOptions. */
export function createVerbosityCell(): SharedArrayBuffer {
  const cell = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
  new Int32Array(cell)[0] = notSet;
  return cell;
}

/** Sets the verbosity of all threads. Each thread applies it in its next event loop iteration. */
export function setVerbosity(cell: SharedArrayBuffer, verbosity: number): void {
  const cells = new Int32Array(cell);
  Atomics.store(cells, 0, verbosity);
  Atomics.notify(cells, 0);
}

/** Fewer references are not worth a sweep. */
const minSweepSize = 64;

/** Applies the cell's verbosity to a thread's logger and all its child loggers. Does not keep loggers from being garbage-collected. */
export class VerbosityFollower {
  readonly #setLevel: (logger: Logger, verbosity: number) => void;
  #loggers: WeakRef<Logger>[] = [];
  /** At this number of references, those of garbage-collected loggers are dropped. */
  #sweepAt = minSweepSize;
  #verbosity: number | null = null;

  /** @param setLevel sets the level of a logger for a verbosity */
  constructor(cell: SharedArrayBuffer, setLevel: (logger: Logger, verbosity: number) => void) {
    this.#setLevel = setLevel;
    void this.#follow(new Int32Array(cell));
  }

  add(logger: Logger): void {
    if (this.#loggers.length >= this.#sweepAt) {
      this.#loggers = this.#loggers.filter((ref) => ref.deref() !== undefined);
      this.#sweepAt = Math.max(minSweepSize, this.#loggers.length * 2);
    }
    this.#loggers.push(new WeakRef(logger));
    if (this.#verbosity !== null) this.#setLevel(logger, this.#verbosity);
  }

  /** Runs until the thread exits. Does not keep the thread running. */
  async #follow(cells: Int32Array<SharedArrayBuffer>): Promise<never> {
    for (;;) {
      const verbosity = Atomics.load(cells, 0);
      if (verbosity !== notSet) {
        this.#verbosity = verbosity;
        for (const ref of this.#loggers) {
          const logger = ref.deref();
          if (logger) this.#setLevel(logger, verbosity);
        }
      }
      const wait = Atomics.waitAsync(cells, 0, verbosity);
      if (wait.async) await wait.value;
    }
  }
}
