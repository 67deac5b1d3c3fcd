/**
 * An HTTP probe: a GET on a connection of its own, redirects included (upstream DoHTTPProbe in pkg/probe/http/http.go). Certificates are not verified, no proxy is
 * used. The messages are those of Go's http.Client.
 */
import { isIP, type Socket } from 'node:net';
import { connect as connectTLS, createSecureContext, type SecureContext } from 'node:tls';
import { faultText } from '../../../shared/errors/contain.ts';
import { goQuote } from '../../../shared/kubernetes/go-text.ts';
import type { ActionOf, Attempt, AttemptResult, OnAttemptDone } from './attempt.ts';
import { success } from './attempt.ts';
import { openConnection, type OpeningConnection } from '../../../shared/dial/open-connection.ts';
import { addressesOf, codeOf, readError } from '../../../shared/dial/socket-error.ts';
import { computeRedirect } from '../../../shared/http-get/redirect.ts';
import { renderRequest, requestFault, toHttpRequest, urlText, type HttpRequest } from '../../../shared/http-get/request.ts';
import { ResponseError } from '../../../shared/http-get/response-error.ts';
import { ResponseReader } from '../../../shared/http-get/response-reader.ts';

interface PreparedRequest {
  readonly request: HttpRequest;
  readonly fault: string | undefined;
  readonly text: string;
}

/** By action: a probe sends the same request each time. */
const prepared = new WeakMap<ActionOf<'http'>, PreparedRequest>();

function prepare(action: ActionOf<'http'>): PreparedRequest {
  let found = prepared.get(action);
  if (!found) {
    const request = toHttpRequest(action);
    found = { request, fault: requestFault(request), text: renderRequest(request) };
    prepared.set(action, found);
  }
  return found;
}

let secureContext: SecureContext | undefined;

export function startHTTP(action: ActionOf<'http'>, done: OnAttemptDone): Attempt {
  const { request, fault, text } = prepare(action);
  const attempt = new HttpAttempt(request, done);
  if (fault === undefined) attempt.send(request, text);
  else attempt.fail(fault);
  return attempt;
}

class HttpAttempt implements Attempt {
  readonly #first: HttpRequest;
  readonly #done: OnAttemptDone;
  #request: HttpRequest;
  #requests = 0;
  #opening: OpeningConnection | undefined;
  #socket: Socket | undefined;
  #reader = new ResponseReader();
  #addresses = '';
  #isOver = false;

  constructor(first: HttpRequest, done: OnAttemptDone) {
    this.#first = first;
    this.#request = first;
    this.#done = done;
  }

  send(request: HttpRequest, text: string): void {
    this.#request = request;
    this.#requests += 1;
    this.#reader = new ResponseReader();
    const { scheme, host, port } = request.url;
    this.#opening = openConnection(host, port, {
      onConnect: (connection) => {
        const socket = scheme === 'https' ? this.#secure(connection, host) : connection;
        this.#socket = socket;
        // They are not known any more when the connection has failed.
        this.#addresses = addressesOf(connection);
        socket.on('error', (err) => this.#onSocketError(err, socket));
        socket.on('data', (chunk: Buffer) => this.#onData(chunk));
        socket.on('end', () => this.#onEnd());
        socket.write(text);
      },
      onError: ({ message, doubt }) => this.fail(message, doubt),
    });
  }

  timeOut(): void {
    if (this.#reader.hasHeaders)
      this.#error('context deadline exceeded (Client.Timeout or context cancellation while reading body)', 'time');
    else this.fail('context deadline exceeded (Client.Timeout exceeded while awaiting headers)', 'time');
  }

  cancel(): void {
    this.#isOver = true;
    this.#disconnect();
  }

  /** Ends the attempt with an error of Go's http.Client. */
  fail(message: string, doubt?: AttemptResult['doubt'], url = urlText(this.#request.url)): void {
    this.#finish({ outcome: 'failure', output: `Get ${goQuote(url)}: ${message}`, ...(doubt && { doubt }) });
  }

  /** Ends the attempt with an error while the body was read. */
  #error(message: string, doubt?: AttemptResult['doubt']): void {
    this.#finish({ outcome: 'failure', output: message, isError: true, ...(doubt && { doubt }) });
  }

  #finish(result: AttemptResult): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#disconnect();
    this.#done(result);
  }

  #disconnect(): void {
    this.#opening?.cancel();
    this.#socket?.destroy();
    this.#socket = undefined;
  }

  /** Old servers with short keys and old ciphers are accepted, as by Go: nothing secret is sent, and nothing is verified. */
  #secure(connection: Socket, host: string): Socket {
    connection.on('error', () => {});
    secureContext ??= createSecureContext({ ciphers: 'DEFAULT:@SECLEVEL=0' });
    return connectTLS({ socket: connection, secureContext, rejectUnauthorized: false, ...(isIP(host) === 0 && { servername: host }) });
  }

  #onData(chunk: Buffer): void {
    if (this.#isOver) return;
    this.#guard(() => {
      if (this.#reader.read(chunk)) this.#onResponse();
    });
  }

  #onEnd(): void {
    if (this.#isOver) return;
    this.#guard(() => {
      this.#reader.end();
      this.#onResponse();
    }, 'time');
  }

  #guard(read: () => void, doubt?: AttemptResult['doubt']): void {
    try {
      read();
    } catch (err) {
      // An exception here would end the thread.
      if (!(err instanceof ResponseError)) this.#finish({ outcome: 'unknown', output: faultText(err), isError: true });
      else if (err.inBody) this.#error(err.message, doubt);
      else this.fail(err.message, doubt);
    }
  }

  #onSocketError(err: Error, socket: Socket): void {
    if (this.#isOver || socket !== this.#socket) return;
    const reason = tlsReason(err);
    if (reason !== undefined) return this.fail(reason);
    const message = readError(err, this.#addresses);
    if (this.#reader.hasHeaders) this.#error(message, 'time');
    else this.fail(message, 'time');
  }

  #onResponse(): void {
    const { statusCode, bodyText } = this.#reader;
    const redirect = computeRedirect(this.#reader, { first: this.#first, last: this.#request, requests: this.#requests });
    if (redirect.type === 'follow') {
      this.#disconnect();
      const fault = requestFault(redirect.request);
      if (fault === undefined) this.send(redirect.request, renderRequest(redirect.request));
      else this.fail(fault);
    } else if (redirect.type === 'failed') this.fail(redirect.message, undefined, redirect.url);
    else if (statusCode >= 300 && statusCode < 400)
      this.#finish({ outcome: 'warning', output: `Probe terminated redirects, Response body: ${bodyText}` });
    else if (statusCode >= 200 && statusCode < 300) this.#finish(success);
    else this.#finish({ outcome: 'failure', output: `HTTP probe failed with statuscode: ${statusCode}` });
  }
}

/** OpenSSL's reason of a failed handshake; undefined for another error. */
function tlsReason(err: Error): string | undefined {
  if (!/^(ERR_SSL|EPROTO)/.test(codeOf(err))) return undefined;
  const [, reason = err.message] = /SSL routines:[^:]*:([^:]+)/.exec(err.message) ?? [];
  // OpenSSL finds no TLS record.
  return /wrong version number|packet length too long/.test(reason) ? 'http: server gave HTTP response to HTTPS client' : `tls: ${reason}`;
}
