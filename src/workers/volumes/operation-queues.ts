/** Serializes the operations on each volume across pods. Different volumes never wait for each other. */
import type { VolumeKey } from './volume-table.ts';

export class OperationQueues {
  readonly #last = new Map<VolumeKey, Promise<unknown>>();

  /** Runs the operation once the earlier ones of the volume have ended. Settles as it does. */
  run<T>(key: VolumeKey, operation: () => Promise<T>): Promise<T> {
    const running = (this.#last.get(key) ?? Promise.resolve()).then(operation, operation);
    const settled = running.catch(() => {});
    this.#last.set(key, settled);
    void this.#forgetAfter(key, settled);
    return running;
  }

  async #forgetAfter(key: VolumeKey, settled: Promise<unknown>): Promise<void> {
    await settled;
    if (this.#last.get(key) === settled) this.#last.delete(key);
  }
}
