/** Stopping follows the data's flow: nothing closes while something before it still feeds it. */
import type { Logger } from '../shared/log/logger.ts';

/** Closes what was started, the last first: that is the order of the data's flow. What fails to close does not keep the rest open. */
export class Shutdown {
  readonly #stops: { readonly name: string; readonly stop: () => Promise<void> }[] = [];
  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  add(name: string, stop: () => Promise<void>): void {
    this.#stops.push({ name, stop });
  }

  async run(): Promise<void> {
    this.#logger.info('Stopping; pods keep running');
    for (const { name, stop } of this.#stops.toReversed()) {
      await stop().catch((err: unknown) => this.#logger.warn({ err, part: name }, 'Could not stop a part cleanly'));
    }
    this.#logger.info('Stopped');
  }
}
