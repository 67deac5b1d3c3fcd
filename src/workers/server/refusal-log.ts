/** The log of refused requests. Anybody can cause them, so only some each second become lines; the next line has the number of the others. */
import type { Logger } from '../../shared/log/logger.ts';
import type { Clock } from '../../shared/time/clock.ts';

const linesPerPeriod = 10;
const periodMs = 1_000;

export class RefusalLog {
  readonly #logger: Logger;
  readonly #clock: Pick<Clock, 'monotonic'>;
  #periodEndsAtMs = 0;
  #lines = 0;
  #omitted = 0;

  constructor(logger: Logger, clock: Pick<Clock, 'monotonic'>) {
    this.#logger = logger;
    this.#clock = clock;
  }

  info(fields: object, text: string): void {
    const nowMs = this.#clock.monotonic();
    if (nowMs >= this.#periodEndsAtMs) {
      this.#periodEndsAtMs = nowMs + periodMs;
      this.#lines = 0;
    }
    if (this.#lines >= linesPerPeriod) {
      this.#omitted += 1;
      return;
    }
    this.#lines += 1;
    this.#logger.info({ ...fields, ...(this.#omitted > 0 && { omittedBefore: this.#omitted }) }, text);
    this.#omitted = 0;
  }
}
