/**
 * One gRPC call on its HTTP/2 stream: reads the request, and sends messages as fast as the client takes them, then the status. Every wait for
 * the client has a limit, except between the messages of a stream.
 */
import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import { frameMessage } from '../../../shared/grpc-client/frame.ts';
import { encodeStatusMessage } from './message-frames.ts';
import { GrpcError, statusCode, type StatusCode } from './status.ts';

/** The requests of the kubelet's services are empty or contain only names. Upstream's limit is 4 MiB. */
export const maxRequestBytes = 64 * 1024;
/** HTTP/2's default window. */
const chunkBytes = 64 * 1024;
/** HTTP/2's error codes CANCEL and ENHANCE_YOUR_CALM. */
const [cancelled, enhanceYourCalm] = [8, 11];

export interface ClientLimits {
  /** How long a client may take to send its request. */
  readonly requestMs: number;
  /** How long a client may take to read a part of the response. */
  readonly stallMs: number;
}

export const defaultClientLimits: ClientLimits = { requestMs: 10_000, stallMs: 30_000 };

export class Call {
  readonly #stream: ServerHttp2Stream;
  readonly #limits: ClientLimits;
  readonly #ended = new AbortController();
  #hasHeaders = false;
  #hasStatus = false;

  constructor(stream: ServerHttp2Stream, limits: ClientLimits) {
    this.#stream = stream;
    this.#limits = limits;
    // A client that resets its stream causes an error. An error without a listener would end the thread.
    stream.on('error', () => {});
    stream.once('close', () => this.#ended.abort());
  }

  /** Aborted when the stream is closed, by whichever side. */
  get ended(): AbortSignal {
    return this.#ended.signal;
  }

  /** Resolves with the body. Rejects with GrpcError when the body is too long or late, or when the client ends the call. */
  readRequest(): Promise<Buffer> {
    const stream = this.#stream;
    return new Promise((resolve, reject) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      const settle = (work: () => void) => {
        clearTimeout(timer);
        stream.off('data', onData).off('end', onEnd).off('close', onClose);
        work();
      };
      const onData = (chunk: Buffer) => {
        bytes += chunk.length;
        chunks.push(chunk);
        if (bytes > maxRequestBytes) settle(() => reject(tooLarge(bytes)));
      };
      const onEnd = () => settle(() => resolve(Buffer.concat(chunks)));
      const onClose = () => settle(() => reject(cancelledCall()));
      const timer = setTimeout(
        () => settle(() => reject(new GrpcError(statusCode.DEADLINE_EXCEEDED, 'the request did not arrive in time'))),
        this.#limits.requestMs,
      );
      stream.on('data', onData).on('end', onEnd).on('close', onClose);
    });
  }

  /** Resolves when the client's window has taken the message. Rejects with GrpcError when the call has ended or the client does not read. */
  async send(message: Uint8Array): Promise<void> {
    this.#sendHeaders();
    const frame = frameMessage(message);
    for (let offset = 0; offset < frame.length; offset += chunkBytes) {
      if (this.#ended.signal.aborted) throw cancelledCall();
      if (!this.#stream.write(frame.subarray(offset, offset + chunkBytes))) await this.#untilDrained();
    }
  }

  /** Ends the call. Only the first status counts. Resolves when the stream is closed. */
  async end(code: StatusCode, message = ''): Promise<void> {
    const stream = this.#stream;
    if (this.#hasStatus || this.#ended.signal.aborted || stream.destroyed) return;
    this.#hasStatus = true;
    const status = { 'grpc-status': String(code), ...(message !== '' && { 'grpc-message': encodeStatusMessage(message) }) };
    if (this.#hasHeaders) {
      stream.once('wantTrailers', () => stream.sendTrailers(status));
      stream.end();
    } else {
      stream.respond({ ...responseHeaders, ...status }, { endStream: true });
    }
    // After OK the client may still read the messages; after an error it may still send its request.
    await this.#untilClosed(code === statusCode.OK ? this.#limits.stallMs : this.#limits.requestMs);
  }

  /** Ends the call at once, to make room for another one. The client gets RESOURCE_EXHAUSTED. */
  evict(): void {
    // The handler's own status must not follow.
    this.#hasStatus = true;
    this.#stream.close(enhanceYourCalm);
  }

  /** Ends a stream that is no gRPC call. */
  async refuse(httpStatus: number): Promise<void> {
    if (this.#stream.destroyed) return;
    this.#hasStatus = true;
    this.#stream.respond({ ':status': httpStatus }, { endStream: true });
    await this.#untilClosed(this.#limits.requestMs);
  }

  /** Closes the stream after the limit: a client that does not finish its request, or does not read, would keep the stream open. */
  async #untilClosed(limitMs: number): Promise<void> {
    const stream = this.#stream;
    if (!stream.readableEnded) stream.resume();
    const timer = setTimeout(() => stream.close(cancelled), limitMs);
    await new Promise<void>((resolve) => {
      if (this.#ended.signal.aborted) resolve();
      else this.#ended.signal.addEventListener('abort', () => resolve(), { once: true });
    });
    clearTimeout(timer);
  }

  #sendHeaders(): void {
    if (this.#hasHeaders) return;
    if (this.#ended.signal.aborted || this.#hasStatus) throw cancelledCall();
    this.#hasHeaders = true;
    this.#stream.respond(responseHeaders, { waitForTrailers: true });
  }

  #untilDrained(): Promise<void> {
    const stream = this.#stream;
    return new Promise((resolve, reject) => {
      const settle = (work: () => void) => {
        clearTimeout(timer);
        stream.off('drain', onDrain).off('close', onClose);
        work();
      };
      const onDrain = () => settle(resolve);
      const onClose = () => settle(() => reject(cancelledCall()));
      const timer = setTimeout(
        () => settle(() => reject(new GrpcError(statusCode.RESOURCE_EXHAUSTED, 'the client does not read'))),
        this.#limits.stallMs,
      );
      stream.on('drain', onDrain).on('close', onClose);
    });
  }
}

const responseHeaders: IncomingHttpHeaders = { ':status': '200', 'content-type': 'application/grpc' };

function tooLarge(bytes: number): GrpcError {
  return new GrpcError(statusCode.RESOURCE_EXHAUSTED, `grpc: received message larger than max (${bytes} vs. ${maxRequestBytes})`);
}

function cancelledCall(): GrpcError {
  return new GrpcError(statusCode.CANCELLED, 'context canceled');
}
