/** A rate-limited log of refused requests, which unauthenticated clients can cause. The next entry has the number of omitted entries. */
import type { Logger } from '../../shared/log/logger.ts';
import type { Clock } from '../../shared/time/clock.ts';

const entriesPerPeriod = 10;
const periodMs = 1_000;

export class RefusalLog {
  readonly #logger: Logger;
  readonly #clock: Pick<Clock, 'monotonic'>;
  #periodEndsAtMs = 0;
  #entries = 0;
  #omitted = 0;

  constructor(logger: Logger, clock: Pick<Clock, 'monotonic'>) {
    this.#logger = logger;
    this.#clock = clock;
  }

  info(fields: object, text: string): void {
    const nowMs = this.#clock.monotonic();
    if (nowMs >= this.#periodEndsAtMs) {
      this.#periodEndsAtMs = nowMs + periodMs;
      this.#entries = 0;
    }
    if (this.#entries >= entriesPerPeriod) {
      this.#omitted += 1;
      return;
    }
    this.#entries += 1;
    this.#logger.info({ ...fields, ...(this.#omitted > 0 && { omittedBefore: this.#omitted }) }, text);
    this.#omitted = 0;
  }
}
