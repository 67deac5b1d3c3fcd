/**
 * A GET on a connection of its own, redirects on the same host included, as the Go kubelet sends it for probes and lifecycle hooks (upstream pkg/probe/http).
 * Certificates are not verified, no proxy is used. The messages are those of Go's http.Client. Called by the probes thread and the sync pool.
 */
import type { Socket } from 'node:net';
import { openConnection, type OpeningConnection } from '../dial/open-connection.ts';
import { addressesOf, codeOf, readError } from '../dial/socket-error.ts';
import { faultText } from '../errors/contain.ts';
import { goQuote } from '../kubernetes/go-text.ts';
import { computeRedirect, isRedirect } from './redirect.ts';
import { renderRequest, requestFault, toHttpRequest, urlText, type HttpGetTarget, type HttpRequest } from './request.ts';
import { ResponseError } from './response-error.ts';
import { ResponseReader } from './response-reader.ts';
import { secureConnection } from './tls-connection.ts';
import { handshakeEndText, tlsErrorText, type ReceivedBytes } from './tls-error.ts';

export interface HttpResponse {
  readonly statusCode: number;
  /** Up to 10 KiB of the body of a redirect that was not followed; empty for another response. */
  readonly bodyText: string;
}

export interface HttpGetFailure {
  /** `request`: no response; `body`: the headers have arrived, the body has not; `fault`: an exception of this process. */
  readonly stage: 'request' | 'body' | 'fault';
  readonly message: string;
  /** Why the failure may not be the server's: a time limit or a closed connection, or resources of this process that ran out. */
  readonly doubt?: 'time' | 'node' | undefined;
}

export interface HttpGetHandlers {
  readonly onResponse: (response: HttpResponse) => void;
  readonly onFailure: (failure: HttpGetFailure) => void;
  /** Absent: a handshake has no limit of its own. */
  readonly tlsHandshakeTimeoutMs?: number;
}

/** A request that runs. It calls one handler once, unless it is cancelled. */
export interface RunningGet {
  /** Ends it with Go's text for the timeout of a client. */
  timeOut(): void;
  cancel(): void;
}

export interface PreparedGet {
  readonly request: HttpRequest;
  readonly fault: string | undefined;
  readonly text: string;
}

export function prepareGet(target: HttpGetTarget): PreparedGet {
  const request = toHttpRequest(target);
  return { request, fault: requestFault(request), text: renderRequest(request) };
}

/** Sends a request, which may be sent many times. A handler may be called before this returns. */
export function sendGet({ request, fault, text }: PreparedGet, handlers: HttpGetHandlers): RunningGet {
  const exchange = new Exchange(request, handlers);
  if (fault === undefined) exchange.send(request, text);
  else exchange.fail(fault);
  return exchange;
}

class Exchange implements RunningGet {
  readonly #first: HttpRequest;
  readonly #handlers: HttpGetHandlers;
  #request: HttpRequest;
  #requests = 0;
  #opening: OpeningConnection | undefined;
  #connection: Socket | undefined;
  #socket: Socket | undefined;
  #handshake: { readonly received: ReceivedBytes; readonly timer: NodeJS.Timeout | undefined } | undefined;
  #received: ReceivedBytes | undefined;
  #reader = new ResponseReader();
  #addresses = '';
  #isOver = false;

  constructor(first: HttpRequest, handlers: HttpGetHandlers) {
    this.#first = first;
    this.#request = first;
    this.#handlers = handlers;
  }

  send(request: HttpRequest, text: string): void {
    this.#request = request;
    this.#requests += 1;
    this.#reader = new ResponseReader();
    const { scheme, host, port } = request.url;
    this.#opening = openConnection(host, port, {
      onConnect: (connection) => {
        this.#connection = connection;
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
      this.#finish('body', 'context deadline exceeded (Client.Timeout or context cancellation while reading body)', 'time');
    else this.fail('context deadline exceeded (Client.Timeout exceeded while awaiting headers)', 'time');
  }

  cancel(): void {
    this.#isOver = true;
    this.#disconnect();
  }

  /** Ends the request with an error of Go's http.Client. */
  fail(message: string, doubt?: HttpGetFailure['doubt'], url = urlText(this.#request.url)): void {
    this.#finish('request', `Get ${goQuote(url)}: ${message}`, doubt);
  }

  #finish(stage: HttpGetFailure['stage'], message: string, doubt?: HttpGetFailure['doubt']): void {
    if (this.#isOver) return;
    this.cancel();
    this.#handlers.onFailure({ stage, message, doubt });
  }

  #disconnect(): void {
    this.#endHandshake();
    this.#opening?.cancel();
    this.#socket?.destroy();
    this.#connection?.destroy();
    this.#socket = undefined;
    this.#connection = undefined;
  }

  #secure(connection: Socket, host: string): Socket {
    connection.on('error', () => {});
    const { socket, received } = secureConnection(connection, host);
    const { tlsHandshakeTimeoutMs } = this.#handlers;
    const onTimeout = () => this.fail('net/http: TLS handshake timeout', 'time');
    this.#received = received;
    this.#handshake = { received, timer: tlsHandshakeTimeoutMs === undefined ? undefined : setTimeout(onTimeout, tlsHandshakeTimeoutMs) };
    socket.once('secureConnect', () => this.#endHandshake());
    return socket;
  }

  #endHandshake(): void {
    clearTimeout(this.#handshake?.timer);
    this.#handshake = undefined;
  }

  #onData(chunk: Buffer): void {
    if (this.#isOver) return;
    this.#guard(() => {
      if (this.#reader.read(chunk)) this.#onResponse();
    });
  }

  #onEnd(): void {
    if (this.#isOver) return;
    if (this.#handshake) return this.fail(handshakeEndText(this.#handshake.received), 'time');
    this.#guard(() => {
      this.#reader.end();
      this.#onResponse();
    }, 'time');
  }

  #guard(read: () => void, doubt?: HttpGetFailure['doubt']): void {
    try {
      read();
    } catch (err) {
      // An exception here would end the thread.
      if (!(err instanceof ResponseError)) this.#finish('fault', faultText(err));
      else if (err.inBody) this.#onBrokenBody(err.message, doubt);
      else this.fail(err.message, doubt);
    }
  }

  /** A redirect is followed without its body. */
  #onBrokenBody(message: string, doubt: HttpGetFailure['doubt']): void {
    if (isRedirect(this.#reader)) this.#onResponse();
    else this.#finish('body', message, doubt);
  }

  #onSocketError(err: Error, socket: Socket): void {
    if (this.#isOver || socket !== this.#socket) return;
    const tlsText = this.#received && tlsErrorText(err, this.#received);
    if (tlsText !== undefined) return this.fail(tlsText);
    // Node has the code of a reset for a handshake that the server has closed, too; a reset names its call.
    const hasServerClosed = this.#handshake && codeOf(err) === 'ECONNRESET' && !('syscall' in err);
    if (hasServerClosed) return this.fail(handshakeEndText(this.#handshake!.received), 'time');
    const message = readError(err, this.#addresses);
    if (this.#reader.hasHeaders) this.#finish('body', message, 'time');
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
    else {
      this.cancel();
      this.#handlers.onResponse({ statusCode, bodyText });
    }
  }
}
