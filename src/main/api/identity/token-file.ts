/**
 * A bearer token in a file that somebody renews (upstream client-go/transport/token_source.go): read again once a minute, and after a 401.
 * While it can't be read the last one goes on.
 */
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import type { Clock } from '../../../shared/time/clock.ts';

/** Upstream: half of the time between when a projected token is renewed and when the old one expires. */
const refreshPeriodMs = 60_000;
/** Read before it is due, so that no call goes out with a token of more than its period. */
const leewayMs = 10_000;

export interface TokenFileOptions {
  readonly path: string;
  /** The kubeconfig's own token, until the file is read. */
  readonly fallback: string;
  readonly readFile: (path: string) => Promise<string>;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class TokenFile {
  readonly #options: TokenFileOptions;
  #token: string;
  #readAt = -Infinity;
  #reading: Promise<void> | null = null;

  constructor(options: TokenFileOptions) {
    this.#options = options;
    this.#token = options.fallback;
  }

  /** Rejects only when no token was ever read. */
  async current(): Promise<string> {
    if (this.#options.clock.monotonic() >= this.#readAt + refreshPeriodMs - leewayMs) await (this.#reading ??= this.#read());
    return this.#token;
  }

  /** A token that was read before this moment (monotonic ms) is not used again without a look at the file. */
  invalidateBefore(sentAt: number): void {
    if (this.#readAt < sentAt) this.#readAt = -Infinity;
  }

  async #read(): Promise<void> {
    const { path, readFile, clock, logger } = this.#options;
    try {
      const token = (await readFile(path)).trim();
      if (token === '') throw new Error('is empty');
      if (/[\r\n\0]/.test(token)) throw new Error('has more than one line');
      this.#token = token;
      this.#readAt = clock.monotonic();
    } catch (err) {
      const message = `failed to read token file "${path}": ${messageOf(err)}`;
      if (this.#token === '') throw new Error(message, { cause: err });
      logger.error({ err: message }, 'Unable to rotate token');
    } finally {
      this.#reading = null;
    }
  }
}
