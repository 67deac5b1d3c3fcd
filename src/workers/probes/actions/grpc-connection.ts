/**
 * One call of grpc.health.v1.Health/Check on an HTTP/2 connection of its own. Does not use grpc-js, whose channel needs 550 µs of CPU for such a call and has
 * other error texts than grpc-go; this class needs 240 µs.
 */
import type { ClientHttp2Session, ClientHttp2Stream } from 'node:http2';
import type { Duplex } from 'node:stream';
import { openHttp2Session } from '../../../shared/dial/http2-session.ts';
import { socketErrorCode, joinHostPort, readError } from '../../../shared/dial/socket-error.ts';
import { http2ErrorName } from '../../../shared/dial/http2-error-name.ts';
import { maxReceivedBytes } from '../../../shared/dial/watched-connection.ts';
import { grpcCode } from '../../../shared/cri/cri-error.ts';
import { frameMessage, prefixBytes } from '../../../shared/grpc-client/frame.ts';
import type { ActionOf } from './attempt.ts';
import { bodyFault, computeReply, headersFault, maxReplyBytes, type ReplyHeaders, type RpcStatus } from './grpc-reply.ts';
import { encodeHealthRequest } from './health-messages.ts';
import { kubernetesMinor } from '../../../shared/kubernetes/version.ts';

export interface GrpcTransport {
  readonly socket: Duplex;
  /** The local and the remote address, for error texts. */
  readonly addresses: string;
  readonly receivedBytes: () => number;
}

export interface GrpcConnectionHandlers {
  /** The server has sent its settings: it speaks HTTP/2. */
  readonly onReady: () => void;
  /** The connection ended before `onReady`, or the server has refused to read the request: another connection may succeed. */
  readonly onRetry: () => void;
  readonly onReply: (reply: string | RpcStatus) => void;
}

/** The header grpc-timeout has at most eight digits. A timeout that is too long for milliseconds is sent in seconds, and cut after three years. */
const maxTimeoutValue = 99_999_999;

/** How often the number of received bytes is checked. Most replies arrive before the first check; a flood of frames occupies the thread for not much longer. */
const receivedCheckMs = 10;

export class GrpcConnection {
  readonly #action: ActionOf<'grpc'>;
  readonly #timeoutSeconds: number;
  readonly #handlers: GrpcConnectionHandlers;
  readonly #session: ClientHttp2Session;
  readonly #addresses: string;
  readonly #receivedCheck: NodeJS.Timeout;
  #stream: ClientHttp2Stream | undefined;
  #headers: ReplyHeaders | undefined;
  #trailers: ReplyHeaders | undefined;
  #body = Buffer.alloc(0);
  /** The text about a received GOAWAY, for errors. Empty: none was received. */
  #goaway = '';
  #isOver = false;

  constructor(
    { socket, addresses, receivedBytes }: GrpcTransport,
    action: ActionOf<'grpc'>,
    timeoutSeconds: number,
    handlers: GrpcConnectionHandlers,
  ) {
    this.#action = action;
    this.#timeoutSeconds = timeoutSeconds;
    this.#handlers = handlers;
    this.#addresses = addresses;
    this.#receivedCheck = setInterval(() => this.#checkReceived(receivedBytes()), receivedCheckMs);
    this.#session = openHttp2Session(socket, {
      url: `${action.tls ? 'https' : 'http'}://${joinHostPort(action.host, action.port)}`,
      maxHeaderBytes: maxReplyBytes,
      onClose: (error) => this.#onClose(error),
    });
    this.#session.once('remoteSettings', () => this.#call());
    this.#session.on('goaway', (code, lastStreamID, data) => this.#onGoaway(code, lastStreamID, data));
  }

  close(): void {
    this.#isOver = true;
    clearInterval(this.#receivedCheck);
    this.#session.destroy();
  }

  #checkReceived(bytes: number): void {
    if (bytes <= maxReceivedBytes) return;
    this.#reply({ code: grpcCode.RESOURCE_EXHAUSTED, details: `the server sent more than ${maxReceivedBytes} bytes` });
  }

  #finish(report: () => void): void {
    if (this.#isOver) return;
    this.close();
    report();
  }

  #reply(reply: string | RpcStatus): void {
    this.#finish(() => this.#handlers.onReply(reply));
  }

  #call(): void {
    if (this.#isOver) return;
    this.#handlers.onReady();
    const timeoutMs = this.#timeoutSeconds * 1000;
    const stream = this.#session.request({
      ':method': 'POST',
      ':path': '/grpc.health.v1.Health/Check',
      'content-type': 'application/grpc',
      'user-agent': `kube-probe/${kubernetesMinor} grpc-node`,
      te: 'trailers',
      'grpc-timeout': timeoutMs <= maxTimeoutValue ? `${Math.round(timeoutMs)}m` : `${Math.min(maxTimeoutValue, this.#timeoutSeconds)}S`,
    });
    this.#stream = stream;
    stream.on('error', () => {});
    stream.on('response', (headers, flags) => {
      this.#headers = headers;
      const fault = headersFault(this.#headers);
      if (fault) return this.#reply(fault);
      // Bit 0 is END_STREAM: the headers are the trailers, too.
      if ((flags & 1) !== 0) this.#trailers = this.#headers;
    });
    stream.on('trailers', (trailers) => (this.#trailers = trailers));
    stream.on('data', (chunk: Buffer) => this.#onData(chunk));
    stream.once('close', () => {
      if (this.#trailers) this.#onStreamEnd(0);
      // A connection that ends closes its streams before it.
      else setImmediate(() => this.#session.destroyed || this.#onStreamEnd(stream.rstCode ?? 0));
    });
    stream.end(frameMessage(encodeHealthRequest(this.#action.service)));
  }

  #onStreamEnd(resetCode: number): void {
    this.#reply(computeReply(this.#body, { headers: this.#headers, trailers: this.#trailers, resetCode }));
  }

  #onData(chunk: Buffer): void {
    if (this.#isOver) return;
    // Bytes for a message and two prefixes suffice: the second prefix shows that a second message follows, which is a fault.
    this.#body = Buffer.concat([this.#body, chunk.subarray(0, maxReplyBytes + 2 * prefixBytes - this.#body.length)]);
    const fault = bodyFault(this.#body, this.#headers);
    if (fault) this.#reply(fault);
  }

  #onGoaway(code: number, lastStreamID: number, data: unknown): void {
    const debugData = data instanceof Uint8Array && data.length > 0 ? `, debug data: ${JSON.stringify(Buffer.from(data).toString())}` : '';
    this.#goaway = `, received prior goaway: code: ${http2ErrorName(code)}${debugData}`;
    // The server has not read the request, and will not.
    if (code === 0 && lastStreamID === 0 && this.#stream && !this.#headers) this.#finish(this.#handlers.onRetry);
  }

  #onClose(error: Error | undefined): void {
    if (!this.#stream) return this.#finish(this.#handlers.onRetry);
    const lost = `error reading from server: ${error === undefined ? 'EOF' : readFailure(error, this.#addresses)}`;
    const details = this.#goaway === '' ? lost : `closing transport due to: connection error: desc = "${lost}"${this.#goaway}`;
    this.#reply({ code: grpcCode.UNAVAILABLE, details });
  }
}

function readFailure(error: Error, addresses: string): string {
  const code = socketErrorCode(error);
  // The server ended the session with a code, which the text of its GOAWAY contains.
  if (code === 'ERR_HTTP2_SESSION_ERROR') return 'EOF';
  return code.startsWith('ERR_') ? error.message : readError(error, addresses);
}
