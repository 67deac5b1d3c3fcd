/** Logs the Warning headers of API servers (deprecated versions, wrong fields), each text once. Upstream logs them each time. */
import type { Logger } from '../../../shared/log/logger.ts';

/** `299 - "text"`. API servers use no other code. */
const warningFormat = /299 \S+ "((?:[^"\\]|\\.)*)"/g;
/** Bounds memory. Further texts are not logged. */
const maxLogged = 256;

export class ServerWarnings {
  readonly #logger: Logger;
  readonly #logged = new Set<string>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  log(header: string | string[] | undefined): void {
    if (header === undefined) return;
    for (const [, quoted = ''] of String(header).matchAll(warningFormat)) {
      const warning = quoted.replaceAll(/\\(.)/g, '$1');
      if (this.#logged.has(warning) || this.#logged.size >= maxLogged) continue;
      this.#logged.add(warning);
      this.#logger.warn({ warning }, 'Warning from the API server');
    }
  }
}
