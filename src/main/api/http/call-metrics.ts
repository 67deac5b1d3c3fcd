/** Records client-go's rest_client_* metrics: each attempt with its status code, each call with its duration. */
import {
  rateLimiterDuration,
  requestDuration,
  requestRetries,
  requests,
  requestSize,
  responseSize,
} from '../../../shared/metrics/definitions/rest-client.ts';

export class CallMetrics {
  readonly #host: string;

  constructor(host: string) {
    this.#host = host;
  }

  observeWait(verb: string, ms: number): void {
    rateLimiterDuration.observe(ms / 1000, { verb, host: this.#host });
  }

  /** @param code null: no response */
  countAttempt(verb: string, code: number | null, isRetry: boolean): void {
    const text = code === null ? '<error>' : String(code);
    requests.inc({ code: text, method: verb, host: this.#host });
    if (isRetry) requestRetries.inc({ code: text, verb, host: this.#host });
  }

  observeRequestSize(verb: string, bytes: number): void {
    requestSize.observe(bytes, { verb, host: this.#host });
  }

  observeResponseSize(verb: string, bytes: number): void {
    responseSize.observe(bytes, { verb, host: this.#host });
  }

  observeDuration(verb: string, ms: number): void {
    requestDuration.observe(ms / 1000, { verb, host: this.#host });
  }
}
