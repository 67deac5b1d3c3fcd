/**
 * Reads and validates the configuration in a thread of its own (loader-thread.ts), which ends with its answer: a slow file system or a huge
 * document must not stop main. One load at a time.
 */
import { Worker } from 'node:worker_threads';
import type { ConfigurationInputs } from '../config/configuration-inputs.ts';
import { messageOf } from '../../shared/errors/kubelet-error.ts';
import { configLoaderUrl } from '../threads/entry-url.ts';
import type { Clock } from '../../shared/time/clock.ts';
import type { LoaderReply } from './loader-thread.ts';

/** A load takes a tenth of a second, and seconds on a busy machine. */
const deadlineMs = 20_000;
const resourceLimits = { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 8 };

export class ConfigLoader {
  readonly #inputs: ConfigurationInputs;
  readonly #clock: Clock;
  #isRunning = false;

  constructor(inputs: ConfigurationInputs, clock: Clock) {
    this.#inputs = inputs;
    this.#clock = clock;
  }

  /** Never rejects. */
  async load(): Promise<LoaderReply> {
    // A thread that waits for a file system can't be ended.
    if (this.#isRunning) return { error: 'an earlier attempt to read the configuration still waits for its files' };
    this.#isRunning = true;
    try {
      return await this.#run();
    } catch (err) {
      this.#isRunning = false;
      return { error: `the configuration could not be read: ${messageOf(err)}` };
    }
  }

  /** Rejects when the thread can't be created. */
  #run(): Promise<LoaderReply> {
    return new Promise((resolve) => {
      const worker = new Worker(configLoaderUrl(), { name: 'config-loader', workerData: this.#inputs, resourceLimits });
      const cancel = this.#clock.after(deadlineMs, () => {
        resolve({ error: `the configuration could not be read within ${deadlineMs / 1000} s` });
        void worker.terminate();
      });
      let reply: LoaderReply = { error: 'the configuration could not be read: its thread ended' };
      worker.once('message', (message: LoaderReply) => (reply = message));
      worker.once('error', (err) => (reply = { error: `the configuration could not be read: ${messageOf(err)}` }));
      worker.once('exit', () => {
        this.#isRunning = false;
        cancel();
        // Without effect after the deadline.
        resolve(reply);
      });
    });
  }
}
