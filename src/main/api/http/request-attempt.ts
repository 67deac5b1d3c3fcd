/** One attempt of a call: a request out, the whole answer in, within a deadline and a size. */
import type { Dispatcher } from 'undici';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import type { Clock } from '../../../shared/time/clock.ts';
import { ApiError } from '../api-client.ts';
import { untilAborted } from '../../../shared/concurrency/until-aborted.ts';
import type { AttemptFailure } from './retry-delay.ts';
import type { CallName } from './response-error.ts';

export interface WireRequest {
  readonly name: CallName;
  readonly origin: string;
  /** With the query. */
  readonly path: string;
  readonly method: Dispatcher.HttpMethod;
  /** Names and values in turn: a name may come more than once. */
  readonly headers: string[];
  readonly body: string | Buffer | null;
}

export interface HttpResponse {
  readonly code: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

/** No answer came: the error for the caller, and what is known for another attempt. */
export class NoResponseError extends Error {
  override readonly name = 'Unanswered';
  readonly failure: AttemptFailure;
  readonly error: ApiError;

  constructor(failure: AttemptFailure, error: ApiError) {
    super(error.message, { cause: error });
    this.failure = failure;
    this.error = error;
  }
}

/** A node's own pods, 500 of them with 100 KB each, and some. */
export const maxResponseBytes = 64 * 1024 * 1024;

/** Rejects with Unanswered, or with the signal's reason when it aborts. */
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
    const { statusCode, headers, body } = await attempt.send(dispatcher, wire);
    const chunks: Buffer[] = [];
    let length = 0;
    for await (const chunk of body as AsyncIterable<Buffer>) {
      length += chunk.length;
      if (length > maxResponseBytes) throw attempt.unreadableResponse(`is larger than ${maxResponseBytes} bytes`);
      chunks.push(chunk);
    }
    return { code: statusCode, headers, body: Buffer.concat(chunks, length) };
  } catch (err) {
    throw attempt.toError(err);
  } finally {
    attempt.close();
  }
}

/** What ends an attempt early: its deadline, its silence or its caller; and what its failures are called. */
export class RequestAttempt {
  readonly #name: CallName;
  readonly #caller: AbortSignal;
  readonly #controller = new AbortController();
  #cancelTimer: () => void = () => {};
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

  /** Ends it after so long from now, in place of what was said before. */
  setDeadline(ms: number, clock: Clock): void {
    this.#cancelTimer();
    this.#cancelTimer = clock.after(ms, () => {
      const error = new ApiError(0, 'Timeout', `${this.#callText} got no answer within ${ms / 1000} s`);
      this.#controller.abort(new NoResponseError({ kind: 'final' }, error));
    });
  }

  /** undici heeds a signal only once a request has a connection, which a proxy may not give for minutes: nobody waits for that here. */
  send(dispatcher: Dispatcher, { origin, path, method, headers, body }: WireRequest): Promise<Dispatcher.ResponseData> {
    const url = new URL(origin + path);
    const answer = dispatcher.request({ origin, path: url.pathname + url.search, method, headers, body, signal: this.signal });
    return untilAborted(
      answer.catch((err: unknown) => Promise.reject(isRefusal(err) ? this.#noResponse({ kind: 'not sent' }, err) : err)),
      this.signal,
    );
  }

  unreadableResponse(what: string): NoResponseError {
    return new NoResponseError({ kind: 'final' }, new ApiError(0, 'Unreadable', `the answer to ${this.#callText} ${what}`));
  }

  /** What is thrown for this error: the caller's own reason when the caller ended it. */
  toError(err: unknown): unknown {
    if (this.#caller.aborted) return this.#caller.reason;
    if (this.signal.aborted) return this.signal.reason;
    if (err instanceof NoResponseError) return err;
    return this.#noResponse(failureOf(err), err);
  }

  #noResponse(failure: AttemptFailure, cause: unknown): NoResponseError {
    return new NoResponseError(failure, new ApiError(0, 'Unreachable', `${this.#callText}: ${messageOf(cause)}`, { cause }));
  }

  close(): void {
    this.#cancelTimer();
    this.#caller.removeEventListener('abort', this.#abort);
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
/** How Node and OpenSSL call a certificate that is not to be trusted, or a handshake that was refused: a second try meets the same. */
const certificateErrorCode = /^(ERR_TLS_|ERR_SSL_|CERT_|SELF_SIGNED_|DEPTH_ZERO_|UNABLE_TO_|HOSTNAME_MISMATCH|INVALID_CA)/;

/**
 * For an error that came before any answer: whether a server that goes away has refused the request unread. undici repeats a refused
 * request once by itself, so this is the second refusal.
 */
function isRefusal(err: unknown): boolean {
  const { code, message = '' } = err as { readonly code?: string; readonly message?: string };
  return code === 'UND_ERR_INFO' && message.startsWith('HTTP/2: "GOAWAY" frame received');
}

function failureOf(err: unknown): AttemptFailure {
  const { code = '' } = err as { readonly code?: string };
  if (notConnected.has(code)) return { kind: 'not sent' };
  return certificateErrorCode.test(code) ? { kind: 'final' } : { kind: 'lost' };
}
