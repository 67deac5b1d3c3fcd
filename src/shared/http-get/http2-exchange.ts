/**
 * A GET over HTTP/2, as Go's http2.Transport sends it. Over TLS the server has chosen HTTP/2; without TLS the client knows that the server speaks it. The error
 * messages are Go's. The connection is used once. What the server sends is bounded by the connection (dial/watched-connection.ts).
 */
import type { ClientHttp2Session, ClientHttp2Stream, IncomingHttpHeaders, IncomingHttpStatusHeader } from 'node:http2';
import type { Duplex } from 'node:stream';
import { socketErrorCode, joinHostPort } from '../dial/socket-error.ts';
import { openHttp2Session } from '../dial/http2-session.ts';
import type { ReceivedBytes } from '../dial/watched-connection.ts';
import { http2ErrorName } from '../dial/http2-error-name.ts';
import { goQuote } from '../kubernetes/go-text.ts';
import { maxBodyBytes } from './body-reader.ts';
import { toHttp2Headers } from './http2-headers.ts';
import type { HttpRequest } from './request.ts';
import { maxHeaderBytes } from './response-reader.ts';

export interface Http2Handlers {
  /** The headers are complete, and so is the body up to its limit. */
  readonly onResponse: () => void;
  readonly onFailure: (message: string, doubt?: 'time') => void;
  /** The server has not processed the request: Go sends it again on another connection. */
  readonly onRefused: (message: string) => void;
}

export class Http2Exchange {
  statusCode = 0;
  location = '';
  hasHeaders = false;
  readonly #handlers: Http2Handlers;
  readonly #received: ReceivedBytes;
  readonly #session: ClientHttp2Session;
  readonly #stream: ClientHttp2Stream;
  readonly #kept: Buffer[] = [];
  #bytes = 0;
  #contentLength: number | undefined;
  #goaway: string | undefined;
  #isUnprocessed = false;
  #isOver = false;

  /** The owner of the socket listens to its errors, and destroys it. */
  constructor(
    { socket, received }: { readonly socket: Duplex; readonly received: ReceivedBytes },
    request: HttpRequest,
    handlers: Http2Handlers,
  ) {
    this.#handlers = handlers;
    this.#received = received;
    this.#session = openHttp2Session(socket, {
      url: `${request.url.scheme}://${joinHostPort(request.url.host, request.url.port)}`,
      maxHeaderBytes,
      onClose: (error) => this.#onClose(error),
    });
    this.#session.on('goaway', (code, lastStreamID, data) => this.#onGoaway(code, lastStreamID, data));
    this.#stream = this.#session.request(toHttp2Headers(request), { endStream: true });
    this.#stream.on('error', () => {});
    this.#stream.on('response', (headers) => this.#onHeaders(headers));
    this.#stream.once('close', () => {
      // An ending connection closes its streams first. `#onClose` then reports the reason.
      if (this.#stream.rstCode === 0) this.#onStreamEnd();
      else setImmediate(() => this.#session.destroyed || this.#onStreamEnd());
    });
  }

  /** Up to 10 KiB of the body of a redirect; empty for other responses. */
  get bodyText(): string {
    return Buffer.concat(this.#kept).subarray(0, maxBodyBytes).toString();
  }

  close(): void {
    this.#isOver = true;
    this.#session.destroy();
  }

  #finish(report: () => void): void {
    if (this.#isOver) return;
    this.close();
    report();
  }

  #fail(message: string, doubt?: 'time'): void {
    this.#finish(() => this.#handlers.onFailure(message, doubt));
  }

  #onHeaders(headers: IncomingHttpHeaders & IncomingHttpStatusHeader): void {
    this.hasHeaders = true;
    this.statusCode = headers[':status'] ?? 0;
    this.location = Buffer.from(headers.location ?? '', 'latin1').toString();
    const length = headers['content-length'];
    if (length !== undefined) this.#contentLength = Number(length);
    // With a listener that was added earlier, data could arrive before the headers.
    this.#stream.on('data', (chunk: Buffer) => this.#onData(chunk));
  }

  #onData(chunk: Buffer): void {
    if (this.#isOver) return;
    if (this.statusCode >= 300 && this.statusCode < 400) this.#kept.push(chunk);
    this.#bytes += chunk.length;
    if (this.#bytes >= maxBodyBytes) this.#finish(this.#handlers.onResponse);
  }

  #onStreamEnd(): void {
    const code = this.#stream.rstCode ?? 0;
    if (code === 0 && this.hasHeaders) return this.#finish(this.#handlers.onResponse);
    const name = http2ErrorName(code);
    const message = `stream error: stream ID ${this.#stream.id}; ${name}; received from peer`;
    // node:http2 itself ends the stream with this code when the body has not the announced length.
    const isShort = name === 'PROTOCOL_ERROR' && this.#contentLength !== undefined && this.#contentLength !== this.#bytes;
    if (this.hasHeaders) this.#fail(isShort ? 'unexpected EOF' : message);
    else if (name === 'REFUSED_STREAM' || name === 'PROTOCOL_ERROR') this.#finish(() => this.#handlers.onRefused(message));
    else this.#fail(message);
  }

  #onGoaway(code: number, lastStreamID: number, data: unknown): void {
    const debug = data instanceof Uint8Array ? Buffer.from(data).toString() : '';
    this.#goaway = `http2: server sent GOAWAY and closed the connection; LastStreamID=${lastStreamID}, ErrCode=${http2ErrorName(code)}, debug=${goQuote(debug)}`;
    this.#isUnprocessed = code === 0 && lastStreamID < (this.#stream.id ?? 1) && !this.hasHeaders;
    if (this.#isUnprocessed) this.#onClose(undefined);
  }

  #onClose(error: Error | undefined): void {
    if (this.#goaway !== undefined && this.#isUnprocessed) return this.#finish(() => this.#handlers.onRefused(this.#goaway!));
    if (this.#goaway !== undefined) return this.#fail(this.#goaway, 'time');
    if (error && socketErrorCode(error) === 'ERR_HTTP2_ERROR')
      return this.#fail(isHttp1(this.#received) ? http1Text : 'connection error: PROTOCOL_ERROR');
    this.#fail('unexpected EOF', 'time');
  }
}

/** The server has answered the first bytes of HTTP/2 as a server of HTTP/1.1. With TLS the first bytes are those of the handshake. */
function isHttp1({ first }: ReceivedBytes): boolean {
  return first.toString('latin1').startsWith('HTTP/1.');
}

const http1Text =
  'http2: failed reading the frame payload: http2: frame too large, note that the frame header looked like an HTTP/1.1 header';
