/** Sends one attempt of a call and reads the whole response, within a deadline and a size limit. */
import type { Dispatcher } from 'undici';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import type { Clock } from '../../../shared/time/clock.ts';
import { ApiError } from '../api-client.ts';
import { untilAborted } from '../../../shared/concurrency/until-aborted.ts';
import { decompress } from './decompress.ts';
import { AttemptSpan } from './attempt-span.ts';
import type { AttemptFailure } from './retry-delay.ts';
import type { CallName } from './response-error.ts';

export interface WireRequest {
  readonly name: CallName;
  readonly origin: string;
  /** Includes the query. */
  readonly path: string;
  readonly method: Dispatcher.HttpMethod;
  /** Alternating names and values. A name may occur more than once. */
  readonly headers: string[];
  readonly body: string | Buffer | null;
}

export interface HttpResponse {
  readonly code: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

/** The attempt got no response. Carries the error for the caller, and the kind of failure for the retry decision. */
export class NoResponseError extends Error {
  override readonly name = 'NoResponseError';
  readonly failure: AttemptFailure;
  readonly error: ApiError;

  constructor(failure: AttemptFailure, error: ApiError) {
    super(error.message, { cause: error });
    this.failure = failure;
    this.error = error;
  }
}

/** Room for the pods of a node: 500 of 100 KB each. Limits the decompressed bytes of a response. */
export const maxResponseBytes = 64 * 1024 * 1024;

/** Rejects with NoResponseError, or with the signal's reason when the signal aborts. */
export async function sendRequest(
  dispatcher: Dispatcher,
  wire: WireRequest,
  deadlineMs: number,
  signal: AbortSignal,
  clock: Clock,
): Promise<HttpResponse> {
  const attempt = new RequestAttempt(wire.name, signal);
  attempt.setDeadline(deadlineMs, clock);
  try {
    const { statusCode, headers, body: sent } = await attempt.send(dispatcher, wire);
    const body = decompress(sent, headers);
    const chunks: Buffer[] = [];
    let length = 0;
    for await (const chunk of body as AsyncIterable<Buffer>) {
      length += chunk.length;
      if (length > maxResponseBytes) throw attempt.unreadableResponse(`is larger than ${maxResponseBytes} bytes`, 'TooLarge');
      chunks.push(chunk);
    }
    return { code: statusCode, headers, body: Buffer.concat(chunks, length) };
  } catch (err) {
    throw attempt.toError(err);
  } finally {
    attempt.close();
  }
}

/** Aborts an attempt at its deadline or when its caller aborts, and turns failures into the errors of the client. */
export class RequestAttempt {
  readonly #name: CallName;
  readonly #caller: AbortSignal;
  readonly #controller = new AbortController();
  #cancelTimer: () => void = () => {};
  #span: AttemptSpan | null = null;
  readonly #abort = () => this.#controller.abort(this.#caller.reason);

  constructor(name: CallName, caller: AbortSignal) {
    this.#name = name;
    this.#caller = caller;
    if (caller.aborted) this.#abort();
    caller.addEventListener('abort', this.#abort, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Aborts the attempt after `ms` from now. Replaces an earlier deadline. */
  setDeadline(ms: number, clock: Clock): void {
    this.#cancelTimer();
    this.#cancelTimer = clock.after(ms, () => {
      const error = new ApiError(0, 'Timeout', `${this.#callText} got no answer within ${ms / 1000} s`);
      this.#controller.abort(new NoResponseError({ kind: 'final' }, error));
    });
  }

  /**
   * undici observes a signal only after a request has a connection, which a proxy can delay for minutes. The wait therefore ends with the
   * signal here.
   */
  async send(dispatcher: Dispatcher, { origin, path, method, headers, body }: WireRequest): Promise<Dispatcher.ResponseData> {
    const url = new URL(origin + path);
    const span = (this.#span = AttemptSpan.start(method, url));
    const response = dispatcher.request({
      origin,
      path: url.pathname + url.search,
      method,
      headers: [...headers, ...span.headers],
      body,
      signal: this.signal,
    });
    const answer = await untilAborted(
      response.catch((err: unknown) => Promise.reject(isRefusal(err) ? this.#noResponse({ kind: 'not sent' }, err) : err)),
      this.signal,
    );
    span.answered(answer.statusCode);
    return answer;
  }

  unreadableResponse(problem: string, reason: 'Unreadable' | 'TooLarge' = 'Unreadable'): NoResponseError {
    return new NoResponseError({ kind: 'final' }, new ApiError(0, reason, `the answer to ${this.#callText} ${problem}`));
  }

  /** Converts an error of undici to the error to throw: the caller's reason when the caller aborted. */
  toError(err: unknown): unknown {
    const error = this.#errorOf(err);
    if (error instanceof Error) this.#span?.failed(error);
    return error;
  }

  #errorOf(err: unknown): unknown {
    if (this.#caller.aborted) return this.#caller.reason;
    if (this.signal.aborted) return this.signal.reason;
    if (err instanceof NoResponseError) return err;
    return this.#noResponse(toAttemptFailure(err), err);
  }

  #noResponse(failure: AttemptFailure, cause: unknown): NoResponseError {
    return new NoResponseError(failure, new ApiError(0, 'Unreachable', `${this.#callText}: ${messageOf(cause)}`, { cause }));
  }

  close(): void {
    this.#cancelTimer();
    this.#caller.removeEventListener('abort', this.#abort);
    this.#span?.end();
  }

  get #callText(): string {
    return `${this.#name.method} ${this.#name.path}`;
  }
}

const notConnected: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
]);
/** Codes of Node and OpenSSL for an untrusted certificate or a refused handshake. A retry would fail in the same way. */
const certificateErrorCode = /^(ERR_TLS_|ERR_SSL_|CERT_|SELF_SIGNED_|DEPTH_ZERO_|UNABLE_TO_|HOSTNAME_MISMATCH|INVALID_CA)/;

/**
 * True when a server that shuts down refused the request unread (GOAWAY). Only for errors that came before any response. undici retries a
 * refused request once, so this is the second refusal.
 */
function isRefusal(err: unknown): boolean {
  const { code, message = '' } = err as { readonly code?: string; readonly message?: string };
  return code === 'UND_ERR_INFO' && message.startsWith('HTTP/2: "GOAWAY" frame received');
}

function toAttemptFailure(err: unknown): AttemptFailure {
  const { code = '' } = err as { readonly code?: string };
  if (notConnected.has(code)) return { kind: 'not sent' };
  return certificateErrorCode.test(code) ? { kind: 'final' } : { kind: 'lost' };
}
