/**
 * A GET on a connection of its own, redirects on the same host included, as the Go kubelet sends it for probes and lifecycle hooks (upstream pkg/probe/http).
 * Certificates are not verified, no proxy is used. The messages are those of Go's http.Client. Called by the probes thread and the sync pool.
 */
import type { Duplex } from 'node:stream';
import type { Socket } from 'node:net';
import { openConnection, type OpeningConnection } from '../dial/open-connection.ts';
import { addressesOf, socketErrorCode, readError } from '../dial/socket-error.ts';
import { secureConnection, serverKeyFault } from '../dial/tls-connection.ts';
import { maxReceivedBytes, WatchedConnection, type OnSpent, type ReceivedBytes } from '../dial/watched-connection.ts';
import { faultText } from '../faults/contain.ts';
import { goQuote } from '../kubernetes/go-text.ts';
import { withJitter } from '../time/backoff.ts';
import { Http2Exchange } from './http2-exchange.ts';
import { http2Fault } from './http2-headers.ts';
import { computeRedirect, isRedirect } from './redirect.ts';
import { renderRequest, requestFault, toHttpRequest, urlText, type HttpGetTarget, type HttpRequest } from './request.ts';
import { ResponseError } from './response-error.ts';
import { ResponseReader } from './response-reader.ts';
import { handshakeEndText, tlsErrorText } from './tls-error.ts';

export interface HttpGetResponse {
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
  readonly onResponse: (response: HttpGetResponse) => void;
  readonly onFailure: (failure: HttpGetFailure) => void;
  /** Absent: a handshake has no limit of its own. */
  readonly tlsHandshakeTimeoutMs?: number;
  /** A server with TLS may choose HTTP/2. */
  readonly offersHttp2?: boolean;
  /** Called with the time that the thread was busy with TLS and HTTP/2. */
  readonly onSpent?: OnSpent | undefined;
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
  /** The server speaks HTTP/2 also without TLS. */
  readonly hasPriorKnowledge: boolean;
}

export function prepareGet(target: HttpGetTarget): PreparedGet {
  const request = toHttpRequest(target);
  return { request, fault: requestFault(request), text: renderRequest(request), hasPriorKnowledge: target.protocol === 'HTTP2' };
}

/** Sends a request, which may be sent many times. A handler may be called before this returns. */
export function sendGet({ request, fault, text, hasPriorKnowledge }: PreparedGet, handlers: HttpGetHandlers): RunningGet {
  const exchange = new Exchange(request, hasPriorKnowledge, handlers);
  if (fault === undefined) exchange.send(request, text);
  else exchange.fail(fault);
  return exchange;
}

/** Retries of a request that HTTP/2 servers refused (Go: http2.Transport.RoundTripOpt). */
const maxRefusals = 7;

class Exchange implements RunningGet {
  readonly #first: HttpRequest;
  readonly #hasPriorKnowledge: boolean;
  readonly #handlers: HttpGetHandlers;
  #request: HttpRequest;
  #requests = 0;
  #refusals = 0;
  #retry: NodeJS.Timeout | undefined;
  #opening: OpeningConnection | undefined;
  #connection: Socket | undefined;
  #socket: Duplex | undefined;
  #handshake: { readonly received: ReceivedBytes; readonly timer: NodeJS.Timeout | undefined } | undefined;
  #received: ReceivedBytes | undefined;
  #reader = new ResponseReader();
  #http2: Http2Exchange | undefined;
  #addresses = '';
  #isOver = false;

  constructor(first: HttpRequest, hasPriorKnowledge: boolean, handlers: HttpGetHandlers) {
    this.#first = first;
    this.#hasPriorKnowledge = hasPriorKnowledge;
    this.#request = first;
    this.#handlers = handlers;
  }

  send(request: HttpRequest, text: string): void {
    this.#request = request;
    this.#requests += 1;
    this.#reader = new ResponseReader();
    this.#http2 = undefined;
    const { scheme, host, port } = request.url;
    this.#opening = openConnection(host, port, {
      onConnect: (connection) => {
        this.#connection = connection;
        // Kept for error texts: a socket that has failed no longer has them.
        this.#addresses = addressesOf(connection);
        if (scheme === 'https') this.#secure(connection, text);
        else if (this.#hasPriorKnowledge) this.#sendUnencryptedHttp2(connection);
        else this.#write(connection, text);
      },
      onError: ({ message, doubt }) => this.fail(message, doubt),
    });
  }

  timeOut(): void {
    const deadline = 'context deadline exceeded';
    // For HTTP/2 over TLS, Go's kubelet uses the transport of another package, whose texts differ.
    const isTLS = this.#request.url.scheme === 'https';
    if (isTLS && this.#http2?.hasHeaders) this.#finish('body', deadline, 'time');
    else if (isTLS && this.#http2) this.fail('net/http: request canceled (Client.Timeout exceeded while awaiting headers)', 'time');
    else if (this.#reply.hasHeaders)
      this.#finish('body', `${deadline} (Client.Timeout or context cancellation while reading body)`, 'time');
    else this.fail(`${deadline} (Client.Timeout exceeded while awaiting headers)`, 'time');
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

  get #reply(): ResponseReader | Http2Exchange {
    return this.#http2 ?? this.#reader;
  }

  #disconnect(): void {
    this.#endHandshake();
    clearTimeout(this.#retry);
    this.#opening?.cancel();
    this.#http2?.close();
    this.#socket?.destroy();
    this.#connection?.destroy();
    this.#socket = undefined;
    this.#connection = undefined;
  }

  #write(socket: Socket, text: string): void {
    this.#socket = socket;
    socket.on('error', (err) => this.#onSocketError(err, socket));
    socket.on('data', (chunk: Buffer) => this.#onData(chunk));
    socket.on('end', () => this.#onEnd());
    socket.write(text);
  }

  #secure(connection: Socket, text: string): void {
    connection.on('error', () => {});
    const { tlsHandshakeTimeoutMs, offersHttp2 = false } = this.#handlers;
    // Go's transport for HTTP/2 without TLS offers no protocol after a redirect to TLS.
    const protocols = offersHttp2 && !this.#hasPriorKnowledge ? ['h2', 'http/1.1'] : [];
    const { socket, received } = secureConnection(connection, {
      host: this.#request.url.host,
      protocols,
      onSpent: this.#handlers.onSpent,
    });
    const onTimeout = () => this.fail('net/http: TLS handshake timeout', 'time');
    this.#received = received;
    this.#handshake = { received, timer: tlsHandshakeTimeoutMs === undefined ? undefined : setTimeout(onTimeout, tlsHandshakeTimeoutMs) };
    const onHandshakeError = (err: Error) => this.#onSocketError(err, socket);
    const onHandshakeEnd = () => this.#onEnd();
    this.#socket = socket;
    socket.on('error', onHandshakeError);
    socket.on('end', onHandshakeEnd);
    socket.once('secureConnect', () => {
      this.#endHandshake();
      const fault = serverKeyFault(socket, received);
      if (fault !== undefined) return this.fail(fault);
      if (socket.alpnProtocol === 'h2') return this.#sendHttp2(socket, received);
      socket.off('error', onHandshakeError);
      socket.off('end', onHandshakeEnd);
      this.#write(socket, text);
    });
  }

  #sendUnencryptedHttp2(connection: Socket): void {
    connection.on('error', () => {});
    const watched = new WatchedConnection(connection, maxReceivedBytes, this.#handlers.onSpent);
    this.#socket = watched;
    watched.on('error', (err) => this.#onSocketError(err, watched));
    this.#sendHttp2(watched, watched);
  }

  #sendHttp2(socket: Duplex, received: ReceivedBytes): void {
    const request = this.#request;
    const fault = http2Fault(request);
    if (fault !== undefined) return this.fail(fault);
    this.#http2 = new Http2Exchange({ socket, received }, request, {
      onResponse: () => this.#onResponse(),
      onFailure: (message, doubt) => {
        if (!this.#reply.hasHeaders) this.fail(message, doubt);
        else this.#onBrokenBody(message, doubt);
      },
      onRefused: (message) => this.#sendAgain(message),
    });
  }

  /** Repeats a refused request like Go's http2.Transport: at once, then after 1, 2, 4 seconds, and so on, seven times. Not counted as a redirect. */
  #sendAgain(message: string): void {
    this.#disconnect();
    this.#refusals += 1;
    if (this.#refusals > maxRefusals) return this.fail(message);
    const delayMs = this.#refusals === 1 ? 0 : withJitter(2 ** (this.#refusals - 2) * 1000, 0.1);
    this.#requests -= 1;
    this.#retry = setTimeout(() => this.send(this.#request, renderRequest(this.#request)), delayMs);
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
    if (this.#isOver || this.#http2) return;
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

  /** Handles a body that ends with an error. A redirect needs no body, so it is followed. */
  #onBrokenBody(message: string, doubt: HttpGetFailure['doubt']): void {
    if (isRedirect(this.#reply)) this.#onResponse();
    else this.#finish('body', message, doubt);
  }

  #onSocketError(err: Error, socket: Duplex): void {
    if (this.#isOver || socket !== this.#socket) return;
    // `Http2Exchange` reports these errors, also when the server closed the connection while the client was sending.
    if (this.#http2 && /^(?:ERR_HTTP2|EPIPE)/.test(socketErrorCode(err))) return;
    const tlsText = this.#received && tlsErrorText(err, this.#received);
    if (tlsText !== undefined) return this.fail(tlsText);
    // Node also reports ECONNRESET when the server closes the connection in the handshake. Only a real reset has a `syscall`.
    const hasServerClosed = this.#handshake && socketErrorCode(err) === 'ECONNRESET' && !('syscall' in err);
    if (hasServerClosed) return this.fail(handshakeEndText(this.#handshake!.received), 'time');
    const message = readError(err, this.#addresses);
    if (this.#reply.hasHeaders) this.#finish('body', message, 'time');
    else this.fail(message, 'time');
  }

  #onResponse(): void {
    const { statusCode, bodyText } = this.#reply;
    const redirect = computeRedirect(this.#reply, { first: this.#first, last: this.#request, requests: this.#requests });
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
