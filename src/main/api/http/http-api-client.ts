/**
 * The HTTP implementation of ApiClient. A call waits in the queue of its traffic class (RequestLane), is sent with the current credentials, and
 * is retried where that is safe (retry-delay.ts). Watches bypass these queues, as upstream's do.
 */
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import type { Clock } from '../../../shared/time/clock.ts';
import { ApiError, type ApiCall, type ApiClient, type WatchEvent } from '../api-client.ts';
import type { IdentitySource } from '../identity/identity.ts';
import { CallMetrics } from './call-metrics.ts';
import type { CertificateAuthority } from './certificate-authority.ts';
import { sendRequest, NoResponseError, type HttpResponse } from './request-attempt.ts';
import { isHeartbeat, type Lanes } from './lanes.ts';
import { responseError, retryAfterHeaderMs } from './response-error.ts';
import { requestRetryDelayMs, type AttemptFailure } from './retry-delay.ts';
import { ServerAvailability } from './server-availability.ts';
import { ServerWarnings } from './server-warnings.ts';
import type { Transport } from './transport.ts';
import { openWatch, type WatchCall } from './watch.ts';
import { toWireRequest, type RequestDefaults } from './wire-request.ts';

export interface HttpApiClientOptions {
  readonly requestDefaults: RequestDefaults;
  readonly transport: Transport;
  readonly authority: CertificateAuthority;
  readonly identities: IdentitySource;
  readonly lanes: Lanes;
  /** Limits one attempt of a lease or node call. */
  readonly heartbeatDeadlineMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Limits one attempt. Equals the default of the API server's --request-timeout, after which the server responds with 504. */
const deadlineMs = 60_000;
/** Longer waits in a lane are logged (upstream: extraLongThrottleLatency). */
const longThrottleMs = 1_000;
/** At most one long wait is logged per period. */
const longThrottleLogPeriodMs = 10_000;

export class HttpApiClient implements ApiClient {
  readonly #options: HttpApiClientOptions;
  readonly #metrics: CallMetrics;
  readonly #warnings: ServerWarnings;
  readonly #availability: ServerAvailability;
  readonly #inFlight = new Set<AbortController>();
  #closed: ApiError | null = null;
  #waitLoggedAtMs = -Infinity;

  constructor(options: HttpApiClientOptions) {
    this.#options = options;
    this.#metrics = new CallMetrics(options.requestDefaults.server.host);
    this.#warnings = new ServerWarnings(options.logger);
    this.#availability = new ServerAvailability(options.clock);
  }

  async call<T>(call: ApiCall): Promise<T> {
    const { clock } = this.#options;
    const start = clock.monotonic();
    return this.#withScope(call.signal, async (signal) => {
      try {
        return (await this.#callWithRetries(call, signal)) as T;
      } finally {
        this.#metrics.observeDuration(call.method, clock.monotonic() - start);
      }
    });
  }

  async *watch<T>(call: WatchCall): AsyncIterable<WatchEvent<T>> {
    if (call.signal.aborted) return;
    if (this.#closed) throw this.#closed;
    const scope = this.#openScope(call.signal);
    try {
      const wire = { method: 'GET' as const, path: call.path, query: { ...call.query, watch: true } };
      const send = async (isRetry: boolean) => {
        const { identity, dispatcher } = await this.#connection('watches', scope.signal);
        const opened = openWatch<T>(
          dispatcher,
          toWireRequest(wire, identity, this.#options.requestDefaults),
          call,
          this.#options,
          scope.signal,
        );
        return { ...(await this.#countAttempt(wire.method, isRetry, opened)), identity };
      };
      const sentAtMs = this.#options.clock.monotonic();
      let watchResponse = await send(false);
      if (watchResponse.code === 401 && (await this.#hasNewIdentity(watchResponse.identity, sentAtMs, scope.signal))) {
        await watchResponse.readError();
        watchResponse = await send(true);
      }
      if (watchResponse.code !== 200) throw await watchResponse.readError();
      this.#availability.markAvailable();
      yield* watchResponse.events();
    } catch (err) {
      if (call.signal.aborted) return;
      throw err instanceof NoResponseError ? err.error : err;
    } finally {
      scope.end();
    }
  }

  onRecovery(listener: () => void): () => void {
    return this.#availability.onRecovery(listener);
  }

  /** Calls the recovery listeners. */
  announceRecovery(): void {
    this.#availability.announce();
  }

  /** Rejects queued calls, aborts calls and watches in flight, and rejects later ones. */
  close(): void {
    this.#closed = new ApiError(0, 'Unreachable', 'the client of the API server is closed');
    this.#options.lanes.close(this.#closed);
    for (const controller of this.#inFlight) controller.abort(this.#closed);
  }

  async #callWithRetries(call: ApiCall, signal: AbortSignal): Promise<unknown> {
    const { lanes, clock, logger } = this.#options;
    const { lane, rank } = lanes.forClass(call.trafficClass);
    for (let attempts = 1; ; attempts += 1) {
      const waitingSince = clock.monotonic();
      const release = await lane.acquire(rank, signal, call.podUID);
      this.#recordWait(call, clock.monotonic() - waitingSince);
      const outcome = await this.#attempt(call, attempts > 1, signal).finally(release);
      if ('value' in outcome) return outcome.value;
      const delayMs = requestRetryDelayMs(call.method, outcome.failure, attempts, call.maxAttempts);
      if (delayMs === null) throw outcome.error;
      logger.debug({ method: call.method, path: call.path, attempts, delayMs, err: outcome.error.message }, 'Retrying API call');
      await clock.sleep(delayMs, signal);
    }
  }

  async #attempt(
    call: ApiCall,
    isRetry: boolean,
    signal: AbortSignal,
  ): Promise<{ readonly value: unknown } | { readonly failure: AttemptFailure; readonly error: ApiError }> {
    try {
      const response = await this.#send(call, isRetry, signal);
      if (response.code >= 200 && response.code < 300) {
        this.#availability.markAvailable();
        return { value: this.#decode(call, response) };
      }
      if (response.code >= 500) this.#availability.markUnavailable();
      const retryAfter = firstValue(response.headers['retry-after']);
      const error = responseError(call, response.code, response.body, retryAfter);
      return { failure: { kind: 'answered', code: response.code, retryAfterMs: retryAfterHeaderMs(retryAfter) }, error };
    } catch (err) {
      if (!(err instanceof NoResponseError)) throw err;
      this.#availability.markUnavailable();
      return { failure: err.failure, error: err.error };
    }
  }

  /** Returns the response. Repeats the request once after a 401 if the identity has changed since. */
  async #send(call: ApiCall, isRetry: boolean, signal: AbortSignal): Promise<HttpResponse> {
    const { clock, heartbeatDeadlineMs, requestDefaults } = this.#options;
    const limitMs = call.deadlineMs ?? (isHeartbeat(call.trafficClass) ? heartbeatDeadlineMs : deadlineMs);
    const sendOnce = async (isRepeated: boolean) => {
      const { identity, dispatcher } = await this.#connection('calls', signal);
      const wire = toWireRequest(call, identity, requestDefaults);
      if (wire.body !== null) this.#metrics.observeRequestSize(call.method, Buffer.byteLength(wire.body));
      const response = await this.#countAttempt(call.method, isRepeated, sendRequest(dispatcher, wire, limitMs, signal, clock));
      this.#metrics.observeResponseSize(call.method, response.body.length);
      this.#warnings.log(response.headers['warning']);
      return { response, identity };
    };
    const sentAtMs = clock.monotonic();
    const { response, identity } = await sendOnce(isRetry);
    if (response.code !== 401 || !(await this.#hasNewIdentity(identity, sentAtMs, signal))) return response;
    return (await sendOnce(true)).response;
  }

  async #connection(use: 'calls' | 'watches', signal: AbortSignal) {
    const { identities, authority, transport } = this.#options;
    try {
      const [identity, authorities] = [await identities.current(signal), await authority.current()];
      return { identity, dispatcher: transport.dispatcherFor(use, authorities, identity.clientCertificate) };
    } catch (err) {
      if (signal.aborted) throw signal.reason;
      throw new ApiError(0, 'Unauthorized', messageOf(err), { cause: err });
    }
  }

  async #hasNewIdentity(refused: object, sentAtMs: number, signal: AbortSignal): Promise<boolean> {
    try {
      return (await this.#options.identities.refreshAfterUnauthorized(sentAtMs, signal)) !== refused;
    } catch {
      if (signal.aborted) throw signal.reason;
      // The caller reports the 401. The identity source has logged why there are no other credentials.
      return false;
    }
  }

  async #countAttempt<A extends { readonly code: number }>(verb: string, isRetry: boolean, sent: Promise<A>): Promise<A> {
    try {
      const response = await sent;
      this.#metrics.countAttempt(verb, response.code, isRetry);
      return response;
    } catch (err) {
      this.#metrics.countAttempt(verb, null, isRetry);
      throw err;
    }
  }

  #decode(call: ApiCall, { body, code }: HttpResponse): unknown {
    if (body.length === 0) return undefined;
    try {
      return this.#options.requestDefaults.codec.decode(body);
    } catch (err) {
      throw new ApiError(code, 'Unreadable', `the answer to ${call.method} ${call.path} is not JSON`, { cause: err });
    }
  }

  #recordWait({ method, path }: ApiCall, ms: number): void {
    this.#metrics.observeWait(method, ms);
    const now = this.#options.clock.monotonic();
    if (ms < longThrottleMs || now < this.#waitLoggedAtMs + longThrottleLogPeriodMs) return;
    this.#waitLoggedAtMs = now;
    this.#options.logger.info({ method, path, delayMs: Math.round(ms) }, 'Waited before sending request');
  }

  async #withScope<T>(caller: AbortSignal | undefined, use: (signal: AbortSignal) => Promise<T>): Promise<T> {
    caller?.throwIfAborted();
    if (this.#closed) throw this.#closed;
    const scope = this.#openScope(caller);
    try {
      return await use(scope.signal);
    } finally {
      scope.end();
    }
  }

  /** Returns a signal that aborts with the caller's signal or when the client closes. */
  #openScope(caller: AbortSignal | undefined): { readonly signal: AbortSignal; readonly end: () => void } {
    const controller = new AbortController();
    const abort = () => controller.abort(caller?.reason);
    caller?.addEventListener('abort', abort, { once: true });
    this.#inFlight.add(controller);
    const end = () => {
      this.#inFlight.delete(controller);
      caller?.removeEventListener('abort', abort);
    };
    return { signal: controller.signal, end };
  }
}

function firstValue(header: string | string[] | undefined): string | undefined {
  return typeof header === 'string' ? header : header?.[0];
}
