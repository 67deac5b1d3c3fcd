/**
 * The machine's facts, kept current: CPUs and memory can be added, and huge pages are allocated while the node runs. The kernel notifies of neither, so
 * they are read again every minute; upstream's cAdvisor reads them every five minutes.
 */
import type { MachineInfo } from '../../../shared/contracts/stats.ts';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import type { Clock } from '../../../shared/time/clock.ts';
import { Listeners } from '../../../shared/concurrency/listeners.ts';

export interface MachineWatchOptions {
  readonly read: () => Promise<MachineInfo>;
  readonly clock: Clock;
  readonly logger: Logger;
}

const periodMs = 60_000;

export class MachineWatch {
  readonly #options: MachineWatchOptions;
  readonly #listeners = new Listeners();
  #current: MachineInfo;

  private constructor(options: MachineWatchOptions, machine: MachineInfo) {
    this.#options = options;
    this.#current = machine;
  }

  /** Rejects when the machine cannot be read. */
  static async start(options: MachineWatchOptions): Promise<MachineWatch> {
    return new MachineWatch(options, await options.read());
  }

  /** The same object until something changes. */
  current(): MachineInfo {
    return this.#current;
  }

  onChanged(listener: () => void): () => void {
    return this.#listeners.add(listener);
  }

  /** Reads the machine periodically until the signal aborts. Keeps the last facts when that fails. */
  async watch(signal: AbortSignal): Promise<void> {
    const { read, clock, logger } = this.#options;
    while (!signal.aborted) {
      await clock.sleep(periodMs, signal).catch(() => {});
      if (signal.aborted) return;
      try {
        this.#update(await read());
      } catch (err) {
        logger.warn({ err: messageOf(err) }, 'Could not read the resources of the machine, keeping the last ones');
      }
    }
  }

  #update(machine: MachineInfo): void {
    if (JSON.stringify(machine) === JSON.stringify(this.#current)) return;
    this.#options.logger.info({ cpus: machine.numCores, memoryBytes: machine.memoryBytes }, 'The resources of the machine have changed');
    this.#current = machine;
    this.#listeners.notify();
  }
}
