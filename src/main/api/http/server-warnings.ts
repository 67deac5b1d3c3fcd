/** What API servers tell in Warning headers (deprecated versions, wrong fields): logged, each once (upstream logs them each time). */
import type { Logger } from '../../../shared/log/logger.ts';

/** `299 - "text"`, the one code that API servers use. */
const form = /299 \S+ "((?:[^"\\]|\\.)*)"/g;
/** Beyond so many different ones nothing is remembered, and nothing logged. */
const maxKnown = 256;

export class ServerWarnings {
  readonly #logger: Logger;
  readonly #known = new Set<string>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  note(header: string | string[] | undefined): void {
    if (header === undefined) return;
    for (const [, quoted = ''] of String(header).matchAll(form)) {
      const warning = quoted.replaceAll(/\\(.)/g, '$1');
      if (this.#known.has(warning) || this.#known.size >= maxKnown) continue;
      this.#known.add(warning);
      this.#logger.warn({ warning }, 'Warning from the API server');
    }
  }
}
