/**
 * A verbosity that changes while the kubelet runs (`/debug/flags/v`): one cell of memory that all threads share, and that each waits on.
 * Where there is no cell, loggers keep the level that they were made with, and cost nothing more.
 */
import type { Logger } from './logger.ts';

/** No verbosity: as the threads were born. */
const asBorn = -1;

/** Made once by main, handed to every thread in its LoggingOptions. */
export function createVerbosityCell(): SharedArrayBuffer {
  const cell = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
  new Int32Array(cell)[0] = asBorn;
  return cell;
}

/** From here on, in all threads, as soon as each comes round. */
export function setVerbosity(cell: SharedArrayBuffer, verbosity: number): void {
  const cells = new Int32Array(cell);
  Atomics.store(cells, 0, verbosity);
  Atomics.notify(cells, 0);
}

/** A thread's logger and all its children, as long as somebody holds them. */
export class VerbosityFollower {
  readonly #setLevel: (logger: Logger, verbosity: number) => void;
  #members: WeakRef<Logger>[] = [];
  #sweepAt = 64;
  #verbosity: number | null = null;

  /** @param setLevel gives a logger the level that belongs to a verbosity */
  constructor(cell: SharedArrayBuffer, setLevel: (logger: Logger, verbosity: number) => void) {
    this.#setLevel = setLevel;
    void this.#follow(new Int32Array(cell));
  }

  add(logger: Logger): void {
    if (this.#members.length >= this.#sweepAt) {
      this.#members = this.#members.filter((member) => member.deref() !== undefined);
      this.#sweepAt = Math.max(64, this.#members.length * 2);
    }
    this.#members.push(new WeakRef(logger));
    if (this.#verbosity !== null) this.#setLevel(logger, this.#verbosity);
  }

  /** For as long as the thread lives. It does not keep the thread alive. */
  async #follow(cells: Int32Array<SharedArrayBuffer>): Promise<never> {
    for (;;) {
      const verbosity = Atomics.load(cells, 0);
      if (verbosity !== asBorn) {
        this.#verbosity = verbosity;
        for (const member of this.#members) {
          const logger = member.deref();
          if (logger) this.#setLevel(logger, verbosity);
        }
      }
      const wait = Atomics.waitAsync(cells, 0, verbosity);
      if (wait.async) await wait.value;
    }
  }
}
