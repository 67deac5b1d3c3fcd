/**
 * A bearer token in a file that is renewed externally (upstream client-go/transport/token_source.go). Rereads the file once a minute and
 * after a 401. Keeps the last token while the file is unreadable.
 */
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import type { Clock } from '../../../shared/time/clock.ts';

/** Upstream's period: half of the time between the renewal of a projected token and the expiry of the old one. */
const refreshPeriodMs = 60_000;
/** The file is reread this early, so that no call uses a token older than the period. */
const leewayMs = 10_000;

export interface TokenFileOptions {
  readonly path: string;
  /** The kubeconfig's token, used until the file is read. */
  readonly fallback: string;
  readonly readFile: (path: string) => Promise<string>;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class TokenFile {
  readonly #options: TokenFileOptions;
  #token: string;
  #readAtMs = -Infinity;
  #reading: Promise<void> | null = null;

  constructor(options: TokenFileOptions) {
    this.#options = options;
    this.#token = options.fallback;
  }

  /** Rejects only if no token was ever read. */
  async current(): Promise<string> {
    if (this.#options.clock.monotonic() >= this.#readAtMs + refreshPeriodMs - leewayMs) await (this.#reading ??= this.#read());
    return this.#token;
  }

  /** Makes the next use reread the file if it was last read before `sentAtMs` (monotonic). */
  invalidateBefore(sentAtMs: number): void {
    if (this.#readAtMs < sentAtMs) this.#readAtMs = -Infinity;
  }

  async #read(): Promise<void> {
    const { path, readFile, clock, logger } = this.#options;
    try {
      const token = (await readFile(path)).trim();
      if (token === '') throw new Error('is empty');
      if (/[\r\n\0]/.test(token)) throw new Error('has more than one line');
      this.#token = token;
      this.#readAtMs = clock.monotonic();
    } catch (err) {
      const message = `failed to read token file "${path}": ${messageOf(err)}`;
      if (this.#token === '') throw new Error(message, { cause: err });
      logger.error({ err: message }, 'Unable to rotate token');
    } finally {
      this.#reading = null;
    }
  }
}
