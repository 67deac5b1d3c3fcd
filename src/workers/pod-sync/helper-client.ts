/** The pool thread's side of the helper process. */
import type { Logger } from '../../shared/log/logger.ts';

export interface HelperClientOptions {
  readonly logger: Logger;
}

/** One a thread. The process is started at the first request. */
export class HelperClient {
  readonly #options: HelperClientOptions;

  constructor(options: HelperClientOptions) {
    this.#options = options;
  }

  /** Ends the process; what is under way is rejected. */
  close(): Promise<void> {
    this.#options.logger.debug('helper closed');
    return Promise.resolve();
  }
}
